// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_free: an active request's staging memory must live until the host MPI has done with it.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

int request_free(MPI_Request *request) {
  auto &table = progress::TrackedRequests::process();
  if (table.is_empty()) return wire::host().MPI_Request_free(request);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    table.reap();
    const progress::TrackedPtr tracked =
        request == nullptr || *request == MPI_REQUEST_NULL ? nullptr : table.find(*request);
    if (tracked == nullptr) return wire::host().MPI_Request_free(request);
    table.remove(*request, tracked.get());
    if (!tracked->is_active()) return wire::host().MPI_Request_free(request);
    // The program's handle is gone; the host MPI's request lives on in our hands, and is completed by later calls.
    table.adopt(*request, tracked);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  });
}

}  // namespace sluice::ops
