// SPDX-License-Identifier: BSD-3-Clause
// MPI_Cancel: what the program knows as a send may be the receive of its acknowledgement, which must not be cancelled.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

int cancel(MPI_Request *request) {
  const auto &table = progress::TrackedRequests::process();
  if (table.is_empty() || request == nullptr || *request == MPI_REQUEST_NULL) return wire::host().MPI_Cancel(request);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const progress::TrackedPtr tracked = table.find(*request);
    if (tracked != nullptr && tracked->ignores_cancel()) return MPI_SUCCESS;
    return wire::host().MPI_Cancel(request);
  });
}

}  // namespace sluice::ops
