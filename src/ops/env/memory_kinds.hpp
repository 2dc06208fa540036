// SPDX-License-Identifier: BSD-3-Clause
// The info key mpi_memory_alloc_kinds (MPI-4.1, section 11.4.3): what the host MPI provides, and what Sluice adds.
// Threads: any, for an info of its own.
#pragma once

#include <optional>
#include <string>

#include "wire/mpi.hpp"

namespace sluice::ops {

// The value of a key; nothing when the info, which may be MPI_INFO_NULL, has no such key.
[[nodiscard]] std::optional<std::string> value_of(MPI_Info info, const char *key);

// Appends the kinds of the backends (device/memory_names.hpp) to the key's value in `info`, which is the program's own
// copy. Without any the info stays as the host MPI made it; so it does, with one warning, when the host refuses the
// change.
void add_memory_kinds(MPI_Info info) noexcept;

}  // namespace sluice::ops
