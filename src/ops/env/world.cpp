// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/world.hpp"

#include "wire/host.hpp"

namespace sluice::ops {

bool is_world_alive() noexcept {
  int is_begun = 0;
  int is_ended = 0;
  return wire::host().MPI_Initialized(&is_begun) == MPI_SUCCESS && is_begun != 0 &&
         wire::host().MPI_Finalized(&is_ended) == MPI_SUCCESS && is_ended == 0;
}

}  // namespace sluice::ops
