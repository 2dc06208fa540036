// SPDX-License-Identifier: BSD-3-Clause
// What the host MPIs themselves get wrong, seen with Sluice absent. A test that meets such a fault is cut down or
// skipped there, by these names only.
#pragma once

namespace sluice::tests {

// Open MPI 4: a persistent buffered send that is started again sends old or zero bytes above the eager size.
bool loses_data_in_restarted_bsend();

// Intel MPI 2021 through its MPI-5 interface: a truncated receive ends the job even under MPI_ERRORS_RETURN, or is not
// noticed (receives of 0 bytes).
bool aborts_on_truncation();

}  // namespace sluice::tests
