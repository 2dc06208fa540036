// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall, MPI_Testall, MPI_Waitsome, MPI_Testsome, MPI_Request_get_status_all, MPI_Request_get_status_some:
// several requests complete.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/watched.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using progress::TrackedRequests;

// Finishes requests after the host MPI's call returned `result`. Status k belongs to request indices[k], or to request
// k when `indices` is null.
int settle(Watched *watched, int result, int n_done, const int *indices, MPI_Status *statuses, bool retires) {
  if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) {
    // MPICH returns the class inside a longer code.
    int error_class = MPI_SUCCESS;
    if (wire::host().MPI_Error_class(result, &error_class) != MPI_SUCCESS || error_class != MPI_ERR_IN_STATUS) {
      return result;
    }
  }
  int worst = result;
  for (int k = 0; k < n_done; ++k) {
    const int index = indices != nullptr ? indices[k] : k;
    const int host_error = result == MPI_SUCCESS ? MPI_SUCCESS : statuses[k].MPI_ERROR;
    if (host_error == MPI_ERR_PENDING) continue;
    if (host_error != MPI_SUCCESS) {
      watched->abandon(index);
      continue;
    }
    const int error = watched->finish(index, statuses[k], retires);
    if (error == MPI_SUCCESS) continue;
    if (worst == MPI_SUCCESS) {
      // From here on the statuses' error fields are what the program looks at.
      for (int j = 0; j < n_done; ++j) statuses[j].MPI_ERROR = MPI_SUCCESS;
      worst = MPI_ERR_IN_STATUS;
    }
    statuses[k].MPI_ERROR = error;
  }
  return worst;
}

}  // namespace

int waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Waitall(count, array_of_requests, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    if (watched.is_empty()) return wire::host().MPI_Waitall(count, array_of_requests, array_of_statuses);
    MPI_Status *statuses = watched.statuses(array_of_statuses);
    const int result = wire::host().MPI_Waitall(count, array_of_requests, statuses);
    return settle(&watched, result, count, nullptr, statuses, true);
  });
}

int testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Testall(count, array_of_requests, flag, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    if (watched.is_empty()) return wire::host().MPI_Testall(count, array_of_requests, flag, array_of_statuses);
    MPI_Status *statuses = watched.statuses(array_of_statuses);
    const int result = wire::host().MPI_Testall(count, array_of_requests, flag, statuses);
    const bool is_done = result != MPI_SUCCESS || *flag != 0;
    return settle(&watched, result, is_done ? count : 0, nullptr, statuses, true);
  });
}

int waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(incount, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result = wire::host().MPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, statuses);
    if (watched.is_empty() || *outcount == MPI_UNDEFINED) return result;
    return settle(&watched, result, *outcount, array_of_indices, statuses, true);
  });
}

int testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(incount, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result = wire::host().MPI_Testsome(incount, array_of_requests, outcount, array_of_indices, statuses);
    if (watched.is_empty() || *outcount == MPI_UNDEFINED) return result;
    return settle(&watched, result, *outcount, array_of_indices, statuses, true);
  });
}

int request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                           MPI_Status array_of_statuses[]) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result = wire::host().MPI_Request_get_status_all(count, array_of_requests, flag, statuses);
    if (watched.is_empty() || result != MPI_SUCCESS || *flag == 0) return result;
    return settle(&watched, result, count, nullptr, statuses, false);
  });
}

int request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                            MPI_Status array_of_statuses[]) {
  if (TrackedRequests::process().is_empty()) {
    return wire::host().MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                                    array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(incount, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result =
        wire::host().MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, statuses);
    if (watched.is_empty() || result != MPI_SUCCESS || *outcount == MPI_UNDEFINED) return result;
    return settle(&watched, result, *outcount, array_of_indices, statuses, false);
  });
}

}  // namespace sluice::ops
