// SPDX-License-Identifier: BSD-3-Clause
// Whether MPI_COMM_WORLD is there, and what needs it.
#pragma once

#include <string_view>

namespace sluice::ops {

// True from MPI_Init to MPI_Finalize, when MPI_COMM_WORLD and its error handlers can be used. Asks the host MPI.
[[nodiscard]] bool is_world_alive() noexcept;

// Whether Sluice's own functions for `what` (a plural) can be used now. Where not, MPI is not there or Sluice is
// switched off, no error handler can be told: the error is logged, is sluice_last_error(), and *code is what the caller
// returns.
[[nodiscard]] bool is_usable(std::string_view what, int *code);

}  // namespace sluice::ops
