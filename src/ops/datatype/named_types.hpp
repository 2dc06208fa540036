// SPDX-License-Identifier: BSD-3-Clause
// Which of C's types MPI has predefined.
#pragma once

#include <vector>

#include "wire/mpi.hpp"

namespace sluice::ops {

// The predefined types of C whose elements have no gap, but MPI_PACKED: in the same order in every process, those that
// the host MPI lacks among them. Handles are looked up in the host MPI, so this is no constant. Any thread.
//
// Types that some MPIs lack (Fortran's, C++'s) are not listed: naming one that is missing is an error that the host MPI
// may raise where nobody expects it. They are decoded like derived types, at their first use.
[[nodiscard]] std::vector<MPI_Datatype> types_of_c();

}  // namespace sluice::ops
