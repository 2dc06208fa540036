// SPDX-License-Identifier: BSD-3-Clause
// MPI_Wait, MPI_Test, MPI_Waitany, MPI_Testany, MPI_Request_get_status, MPI_Request_get_status_any: at most one request
// completes.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/watched.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using progress::TrackedRequests;

// The end of each: `index` of the completed request (MPI_UNDEFINED: none).
int settle(Watched *watched, int result, bool is_done, int index, const MPI_Status &status, bool retires) {
  if (!is_done || index == MPI_UNDEFINED) return result;
  if (result != MPI_SUCCESS) {
    watched->abandon(index);
    return result;
  }
  return watched->finish(index, status, retires);
}

}  // namespace

int wait(MPI_Request *request, MPI_Status *status) {
  if (TrackedRequests::process().is_empty()) return wire::host().MPI_Wait(request, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(1, request);
    if (watched.is_empty()) return wire::host().MPI_Wait(request, status);
    MPI_Status *completed = watched.status(status);
    const int result = wire::host().MPI_Wait(request, completed);
    return settle(&watched, result, true, 0, *completed, true);
  });
}

int test(MPI_Request *request, int *flag, MPI_Status *status) {
  if (TrackedRequests::process().is_empty()) return wire::host().MPI_Test(request, flag, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(1, request);
    if (watched.is_empty()) return wire::host().MPI_Test(request, flag, status);
    MPI_Status *completed = watched.status(status);
    const int result = wire::host().MPI_Test(request, flag, completed);
    return settle(&watched, result, result != MPI_SUCCESS || *flag != 0, 0, *completed, true);
  });
}

int waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status) {
  if (TrackedRequests::process().is_empty()) return wire::host().MPI_Waitany(count, array_of_requests, indx, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    if (watched.is_empty()) return wire::host().MPI_Waitany(count, array_of_requests, indx, status);
    MPI_Status *completed = watched.status(status);
    const int result = wire::host().MPI_Waitany(count, array_of_requests, indx, completed);
    return settle(&watched, result, true, *indx, *completed, true);
  });
}

int testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Testany(count, array_of_requests, indx, flag, status);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    if (watched.is_empty()) return wire::host().MPI_Testany(count, array_of_requests, indx, flag, status);
    MPI_Status *completed = watched.status(status);
    const int result = wire::host().MPI_Testany(count, array_of_requests, indx, flag, completed);
    return settle(&watched, result, result != MPI_SUCCESS || *flag != 0, *indx, *completed, true);
  });
}

int request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  if (TrackedRequests::process().is_empty()) return wire::host().MPI_Request_get_status(request, flag, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(1, &request);
    if (watched.is_empty()) return wire::host().MPI_Request_get_status(request, flag, status);
    MPI_Status *completed = watched.status(status);
    const int result = wire::host().MPI_Request_get_status(request, flag, completed);
    // The request stays, but the program may read what was received from now on.
    return settle(&watched, result, result == MPI_SUCCESS && *flag != 0, 0, *completed, false);
  });
}

int request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Request_get_status_any(count, array_of_requests, indx, flag, status);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    MPI_Status *completed = watched.status(status);
    const int result = wire::host().MPI_Request_get_status_any(count, array_of_requests, indx, flag, completed);
    return settle(&watched, result, result == MPI_SUCCESS && *flag != 0, *indx, *completed, false);
  });
}

}  // namespace sluice::ops
