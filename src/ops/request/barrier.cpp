// SPDX-License-Identifier: BSD-3-Clause
// MPI_Barrier: carries no data. A program that freed an active receive may learn from a barrier that its message has
// come; what Sluice owes on such requests is done here.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

int barrier(MPI_Comm comm) {
  const int result = wire::host().MPI_Barrier(comm);
  return guarded(comm, [&]() -> int {
    progress::TrackedRequests::process().reap(false);
    return result;
  });
}

}  // namespace sluice::ops
