// SPDX-License-Identifier: BSD-3-Clause
// The queries of mpi-ext.h and of MPICH: whether MPI takes a vendor's memory. Which ones there are is in
// data/support_queries.txt; their shells are generated.
//
// Yes when a backend answers for the word, or will once the program uses a device (device/memory_names.hpp). Otherwise,
// and when Sluice is switched off, what the host MPI says: the memory goes to it untouched, so its own yes is as good.
// No when it does not know the query, or cannot be asked then. Any thread, also before MPI_Init and after MPI_Finalize.
#pragma once

namespace sluice::ops {

// MPIX_Query_<word>_support; `function` is the name to ask the host MPI for. 1 or 0.
int query_support(const char *word, const char *function) noexcept;

// MPIX_GPU_query_support: `word` is what `number` means, null when it means nothing known here. An MPI error code.
int query_support_by_number(int number, const char *word, int *is_supported, const char *function) noexcept;

}  // namespace sluice::ops
