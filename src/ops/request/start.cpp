// SPDX-License-Identifier: BSD-3-Clause
// MPI_Start, MPI_Startall: outgoing device data is brought down, then the host MPI starts its persistent requests.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using progress::TrackedPtr;
using progress::TrackedRequests;

// A persistent request of ours that may be started; others are the host MPI's to judge.
TrackedPtr find_startable(MPI_Request request) {
  TrackedPtr tracked = request == MPI_REQUEST_NULL ? nullptr : TrackedRequests::process().find(request);
  return tracked != nullptr && tracked->is_persistent() && !tracked->is_active() ? tracked : nullptr;
}

void mark_started(const TrackedPtr &tracked) {
  tracked->reset_finish();
  tracked->set_active(true);
}

}  // namespace

int start(MPI_Request *request) {
  return startall(1, request);
}

int startall(int count, MPI_Request array_of_requests[]) {
  if (TrackedRequests::process().is_empty() || count < 1 || array_of_requests == nullptr) {
    return count == 1 ? wire::host().MPI_Start(array_of_requests) : wire::host().MPI_Startall(count, array_of_requests);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    std::vector<TrackedPtr> startable;
    startable.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      TrackedPtr tracked = find_startable(array_of_requests[i]);
      // An error here starts none of the requests, so that the program knows where it stands.
      if (tracked != nullptr) {
        if (Status status = tracked->prepare(); !status.is_ok()) return raise(tracked->communicator(), status);
      }
      startable.push_back(std::move(tracked));
    }
    for (int i = 0; i < count; ++i) {
      const TrackedPtr &tracked = startable[static_cast<std::size_t>(i)];
      if (tracked != nullptr) mark_started(tracked);
      MPI_Request *request = &array_of_requests[i];
      const int result = tracked != nullptr ? tracked->start_again(tracked, request) : wire::host().MPI_Start(request);
      if (result == MPI_SUCCESS) continue;
      if (tracked != nullptr) tracked->set_active(false);
      return result;
    }
    return MPI_SUCCESS;
  });
}

}  // namespace sluice::ops
