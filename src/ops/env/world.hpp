// SPDX-License-Identifier: BSD-3-Clause
// Whether MPI_COMM_WORLD is there, and what needs it. All of it: any thread.
#pragma once

#include <string_view>

namespace sluice::ops {

// True from MPI_Init to MPI_Finalize, when MPI_COMM_WORLD and its error handlers can be used. Asks the host MPI.
[[nodiscard]] bool is_world_alive() noexcept;

// True: Sluice's own functions for `what` (a plural, as "queues") can be used now. False: MPI is not there, or Sluice
// is switched off, so there is no error handler to call. The error is logged, sluice_last_error() gives it, and the
// caller returns *code.
[[nodiscard]] bool is_usable(std::string_view what, int *code);

}  // namespace sluice::ops
