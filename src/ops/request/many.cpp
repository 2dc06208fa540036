// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall, MPI_Testall, MPI_Waitsome, MPI_Testsome, MPI_Request_get_status_all, MPI_Request_get_status_some:
// several requests complete.
#include <algorithm>
#include <vector>

#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/watched.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

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
    const int error = watched->finish(index, &statuses[k], retires);
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

// MPI_Testall when nothing is hidden; a turn first.
int test_all(Watched *watched, int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
  progress::Engine::process().turn();
  static_cast<void>(watched->visible(requests));
  if (watched->is_any_hidden()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  return wire::host().MPI_Testall(count, requests, flag, statuses);
}

// MPI_Waitall in turns. One request after the other, and none before those in front of it are done: to ask after each
// in every turn would cost a long array more than the messages do. (And in MPICH 5 and Intel MPI an MPI_Testall that
// completes nothing may use up the status of a persistent receive.)
int wait_all(Watched *watched, int count, MPI_Request *requests, MPI_Status *statuses) {
  std::vector<int> errors(static_cast<std::size_t>(std::max(count, 0)), MPI_SUCCESS);
  int n_done = 0;
  const WaitingCall call{"MPI_Waitall", watched, &n_done};
  const waiting::Described described(&tell_waiting_call, &call);
  progress::turn_until([&] {
    for (; n_done < count && !watched->hides(n_done); ++n_done) {
      int flag = 0;
      int &error = errors[static_cast<std::size_t>(n_done)];
      error = wire::host().MPI_Test(&requests[n_done], &flag, &statuses[n_done]);
      if (flag == 0 && error == MPI_SUCCESS) return false;
    }
    return n_done >= count;
  });
  if (std::all_of(errors.begin(), errors.end(), [](int error) { return error == MPI_SUCCESS; })) return MPI_SUCCESS;
  for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = errors[static_cast<std::size_t>(i)];
  return MPI_ERR_IN_STATUS;
}

// MPI_Waitall of the host MPI.
int wait_all_in_host(const Watched &watched, int count, MPI_Request *requests, MPI_Status *statuses) {
  const WaitingCall call{"MPI_Waitall", &watched};
  const waiting::InHost in_host(!watched.is_empty(), &tell_waiting_call, &call);
  return wire::host().MPI_Waitall(count, requests, statuses);
}

// `ask`, MPI_Testsome or MPI_Request_get_status_some, past what is hidden; a turn first.
template <typename Ask>
int test_some(Watched *watched, MPI_Request *requests, int *n_done, int *indices, Ask ask) {
  progress::Engine::process().turn();
  MPI_Request *visible = watched->visible(requests);
  if (const int apart = watched->find_apart(); apart >= 0) {
    *n_done = 1;
    indices[0] = apart;
    return MPI_SUCCESS;
  }
  const int result = ask(visible);
  watched->write_back(requests);
  // Nothing among the visible ones can complete; a hidden one will.
  if (result == MPI_SUCCESS && *n_done == MPI_UNDEFINED && watched->is_any_hidden()) *n_done = 0;
  return result;
}

}  // namespace

int waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (is_plain_completion()) return wire::host().MPI_Waitall(count, array_of_requests, array_of_statuses);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    if (watched.is_empty() && watched.may_block()) {
      return wire::host().MPI_Waitall(count, array_of_requests, array_of_statuses);
    }
    MPI_Status *statuses = watched.statuses(array_of_statuses);
    const int result = watched.may_block() || array_of_requests == nullptr
                           ? wait_all_in_host(watched, count, array_of_requests, statuses)
                           : wait_all(&watched, count, array_of_requests, statuses);
    return watched.is_empty() ? result : settle(&watched, result, count, nullptr, statuses, true);
  });
}

int testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]) {
  if (is_plain_completion()) return wire::host().MPI_Testall(count, array_of_requests, flag, array_of_statuses);
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(count, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result = test_all(&watched, count, array_of_requests, flag, statuses);
    const bool is_done = result != MPI_SUCCESS || *flag != 0;
    return watched.is_empty() ? result : settle(&watched, result, is_done ? count : 0, nullptr, statuses, true);
  });
}

int waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  if (is_plain_completion()) {
    return wire::host().MPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(incount, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    int result = MPI_SUCCESS;
    const WaitingCall call{"MPI_Waitsome", &watched};
    if (watched.may_block()) {
      const waiting::InHost in_host(!watched.is_empty(), &tell_waiting_call, &call);
      result = wire::host().MPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, statuses);
    } else {
      const waiting::Described described(&tell_waiting_call, &call);
      progress::Patience patience;
      do {
        result = test_some(&watched, array_of_requests, outcount, array_of_indices, [&](MPI_Request *visible) {
          return wire::host().MPI_Testsome(incount, visible, outcount, array_of_indices, statuses);
        });
        patience.pause();
      } while (result == MPI_SUCCESS && *outcount == 0);
    }
    if (watched.is_empty() || *outcount == MPI_UNDEFINED) return result;
    return settle(&watched, result, *outcount, array_of_indices, statuses, true);
  });
}

int testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  if (is_plain_completion()) {
    return wire::host().MPI_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(incount, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result = test_some(&watched, array_of_requests, outcount, array_of_indices, [&](MPI_Request *visible) {
      return wire::host().MPI_Testsome(incount, visible, outcount, array_of_indices, statuses);
    });
    if (watched.is_empty() || *outcount == MPI_UNDEFINED) return result;
    return settle(&watched, result, *outcount, array_of_indices, statuses, true);
  });
}

int request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                           MPI_Status array_of_statuses[]) {
  if (is_plain_completion()) {
    return wire::host().MPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    progress::Engine::process().turn();
    Watched watched(count, array_of_requests);
    std::vector<MPI_Request> requests = copy_of(count, array_of_requests);
    static_cast<void>(watched.visible(requests.data()));
    if (watched.is_any_hidden()) {
      *flag = 0;
      return MPI_SUCCESS;
    }
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result = wire::host().MPI_Request_get_status_all(count, array_of_requests, flag, statuses);
    if (watched.is_empty() || result != MPI_SUCCESS || *flag == 0) return result;
    return settle(&watched, result, count, nullptr, statuses, false);
  });
}

int request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                            MPI_Status array_of_statuses[]) {
  if (is_plain_completion()) {
    return wire::host().MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                                    array_of_statuses);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    Watched watched(incount, array_of_requests);
    std::vector<MPI_Request> requests = copy_of(incount, array_of_requests);
    MPI_Status *statuses = watched.is_empty() ? array_of_statuses : watched.statuses(array_of_statuses);
    const int result =
        test_some(&watched, requests.data(), outcount, array_of_indices, [&](const MPI_Request *visible) {
          return wire::host().MPI_Request_get_status_some(incount, visible, outcount, array_of_indices, statuses);
        });
    if (watched.is_empty() || result != MPI_SUCCESS || *outcount == MPI_UNDEFINED) return result;
    return settle(&watched, result, *outcount, array_of_indices, statuses, false);
  });
}

}  // namespace sluice::ops
