// SPDX-License-Identifier: BSD-3-Clause
// Waiting for the host MPI in turns: for calls that must not block because peers need something of this process.
#pragma once

#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

// Completes `request`, which nothing of Sluice's hangs on. Returns the host MPI's error code.
inline int wait_in_turns(MPI_Request *request, MPI_Status *status) {
  int result = MPI_SUCCESS;
  progress::turn_until([&] {
    int is_done = 0;
    result = wire::host().MPI_Test(request, &is_done, status);
    return result != MPI_SUCCESS || is_done != 0;
  });
  return result;
}

}  // namespace sluice::ops
