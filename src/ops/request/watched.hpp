// SPDX-License-Identifier: BSD-3-Clause
// Watched: the tracked ones among the requests of one completion call, looked up before the host MPI completes (and so
// clears) them, and finished after.
#pragma once

#include <cstddef>
#include <vector>

#include "progress/tracked_requests.hpp"

namespace sluice::ops {

class Watched {
 public:
  // `requests`: `count` of them; a null array or a count below 1 is for the host MPI to judge.
  Watched(int count, const MPI_Request *requests);

  // None of the requests is tracked: the host MPI's answer is the answer.
  [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }

  // Where the host MPI puts its statuses: the program's array, or one of our own when the program ignores them.
  [[nodiscard]] MPI_Status *statuses(MPI_Status *given);
  [[nodiscard]] MPI_Status *status(MPI_Status *given);

  // Finishes request `index`, which the host MPI has completed with `status`. `retires`: the completion call also ended
  // the request (MPI_Request_get_status does not). Returns MPI_SUCCESS or the code of an error that was raised.
  int finish(int index, const MPI_Status &status, bool retires = true);

  // As above for a request that the host MPI completed with an error: nothing is copied.
  void abandon(int index);

 private:
  struct Entry {
    MPI_Request request;
    progress::TrackedPtr tracked;
  };
  void retire(const Entry &entry);

  int count_;
  std::vector<Entry> entries_;  // one for each request when any is tracked, else none
  std::vector<MPI_Status> own_statuses_;
};

}  // namespace sluice::ops
