// SPDX-License-Identifier: BSD-3-Clause
// MPI_Wait, MPI_Test, MPI_Waitany, MPI_Testany, MPI_Request_get_status, MPI_Request_get_status_any: at most one request
// completes.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/watched.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

// The end of each: `index` of the completed request (MPI_UNDEFINED: none).
int settle(Watched *watched, int result, bool is_done, int index, MPI_Status *status, bool retires) {
  if (!is_done || index == MPI_UNDEFINED) return result;
  if (result != MPI_SUCCESS) {
    watched->abandon(index);
    return result;
  }
  return watched->finish(index, status, retires);
}

// `ask`, MPI_Testany or MPI_Request_get_status_any, past what is hidden; a turn first.
template <typename Ask>
int test_any(Watched *watched, MPI_Request *requests, int *index, int *flag, Ask ask) {
  progress::Engine::process().turn();
  MPI_Request *visible = watched->visible(requests);
  if (const int apart = watched->find_apart(); apart >= 0) {
    *index = apart;
    *flag = 1;
    return MPI_SUCCESS;
  }
  const int result = ask(visible);
  watched->write_back(requests);
  // Nothing among the visible ones can complete; a hidden one will.
  if (result == MPI_SUCCESS && *flag != 0 && *index == MPI_UNDEFINED && watched->is_any_hidden()) *flag = 0;
  return result;
}

// MPI_Test past what is hidden; a turn first.
int test_one(Watched *watched, MPI_Request *request, int *flag, MPI_Status *status) {
  progress::Engine::process().turn();
  static_cast<void>(watched->visible(request));
  if (watched->is_any_hidden()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  return wire::host().MPI_Test(request, flag, status);
}

}  // namespace

int wait(MPI_Request *request, MPI_Status *status) {
  if (is_plain_completion()) return wire::host().MPI_Wait(request, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(1, request);
    if (watched.is_empty() && watched.may_block()) return wire::host().MPI_Wait(request, status);
    MPI_Status *completed = watched.status(status);
    int result = MPI_SUCCESS;
    const WaitingCall call{"MPI_Wait", &watched};
    if (watched.may_block()) {
      const waiting::InHost in_host(true, &tell_waiting_call, &call);
      result = wire::host().MPI_Wait(request, completed);
    } else {
      const waiting::Described described(&tell_waiting_call, &call);
      progress::Patience patience;
      for (int flag = 0; result == MPI_SUCCESS && flag == 0; patience.pause()) {
        result = test_one(&watched, request, &flag, completed);
      }
    }
    return settle(&watched, result, true, 0, completed, true);
  });
}

int test(MPI_Request *request, int *flag, MPI_Status *status) {
  if (is_plain_completion()) return wire::host().MPI_Test(request, flag, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(1, request);
    MPI_Status *completed = watched.is_empty() ? status : watched.status(status);
    const int result = test_one(&watched, request, flag, completed);
    return settle(&watched, result, result != MPI_SUCCESS || *flag != 0, 0, completed, true);
  });
}

int waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status) {
  if (is_plain_completion()) return wire::host().MPI_Waitany(count, array_of_requests, indx, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    if (watched.is_empty() && watched.may_block()) {
      return wire::host().MPI_Waitany(count, array_of_requests, indx, status);
    }
    MPI_Status *completed = watched.status(status);
    int result = MPI_SUCCESS;
    const WaitingCall call{"MPI_Waitany", &watched};
    if (watched.may_block()) {
      const waiting::InHost in_host(true, &tell_waiting_call, &call);
      result = wire::host().MPI_Waitany(count, array_of_requests, indx, completed);
    } else {
      const waiting::Described described(&tell_waiting_call, &call);
      progress::Patience patience;
      for (int flag = 0; result == MPI_SUCCESS && flag == 0; patience.pause()) {
        result = test_any(&watched, array_of_requests, indx, &flag, [&](MPI_Request *visible) {
          return wire::host().MPI_Testany(count, visible, indx, &flag, completed);
        });
      }
    }
    return settle(&watched, result, true, *indx, completed, true);
  });
}

int testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status) {
  if (is_plain_completion()) return wire::host().MPI_Testany(count, array_of_requests, indx, flag, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    MPI_Status *completed = watched.is_empty() ? status : watched.status(status);
    const int result = test_any(&watched, array_of_requests, indx, flag, [&](MPI_Request *visible) {
      return wire::host().MPI_Testany(count, visible, indx, flag, completed);
    });
    return settle(&watched, result, result != MPI_SUCCESS || *flag != 0, *indx, completed, true);
  });
}

int request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  if (is_plain_completion()) return wire::host().MPI_Request_get_status(request, flag, status);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    progress::Engine::process().turn();
    Watched watched(1, &request);
    static_cast<void>(watched.visible(&request));
    if (watched.is_any_hidden()) {
      *flag = 0;
      return MPI_SUCCESS;
    }
    MPI_Status *completed = watched.is_empty() ? status : watched.status(status);
    const int result = wire::host().MPI_Request_get_status(request, flag, completed);
    // The request stays, but the program may read what was received from now on.
    return settle(&watched, result, result == MPI_SUCCESS && *flag != 0, 0, completed, false);
  });
}

int request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status) {
  if (is_plain_completion()) {
    return wire::host().MPI_Request_get_status_any(count, array_of_requests, indx, flag, status);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    std::vector<MPI_Request> requests = copy_of(count, array_of_requests);
    MPI_Status *completed = watched.is_empty() ? status : watched.status(status);
    const int result = test_any(&watched, requests.data(), indx, flag, [&](const MPI_Request *visible) {
      return wire::host().MPI_Request_get_status_any(count, visible, indx, flag, completed);
    });
    return settle(&watched, result, result == MPI_SUCCESS && *flag != 0, *indx, completed, false);
  });
}

}  // namespace sluice::ops
