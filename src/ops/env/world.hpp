// SPDX-License-Identifier: BSD-3-Clause
// Whether MPI_COMM_WORLD is there.
#pragma once

namespace sluice::ops {

// True from MPI_Init to MPI_Finalize, when MPI_COMM_WORLD and its error handlers can be used. Asks the host MPI.
[[nodiscard]] bool is_world_alive() noexcept;

}  // namespace sluice::ops
