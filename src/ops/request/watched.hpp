// SPDX-License-Identifier: BSD-3-Clause
// Watched: the tracked ones among the requests of one completion call, taken out of the table (persistent ones stay)
// before the host MPI completes (and so clears) them, and finished after. Those that the engine still owes something
// are hidden from the host MPI meanwhile.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/waiting.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops {

// Nothing that Sluice has to do for or during a completion call: the host MPI's own is called. Hot. Any thread.
[[nodiscard]] inline bool is_plain_completion() noexcept {
  return progress::TrackedRequests::process().is_empty() && !progress::Engine::process().is_busy();
}

// For calls that may not change the program's array. Pure.
[[nodiscard]] inline std::vector<MPI_Request> copy_of(int count, const MPI_Request *requests) {
  if (count < 1 || requests == nullptr) return {};
  return {requests, requests + count};
}

// The requests of one completion call. The thread of that call alone.
class Watched {
 public:
  // `requests`: `count` of them; a null array or a count below 1 is for the host MPI to judge.
  Watched(int count, const MPI_Request *requests);
  // Puts back into the table what was taken out of it and not completed.
  ~Watched();
  Watched(const Watched &) = delete;
  Watched &operator=(const Watched &) = delete;
  Watched(Watched &&) = delete;
  Watched &operator=(Watched &&) = delete;

  // None of the requests is tracked: the host MPI's answer is the answer.
  [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }
  // The host MPI's blocking call may be used: nothing is hidden, and nothing else needs turns.
  [[nodiscard]] bool may_block() const noexcept;

  // Where the host MPI puts its statuses: the program's array, or one of our own when the program ignores them.
  [[nodiscard]] MPI_Status *statuses(MPI_Status *given);
  [[nodiscard]] MPI_Status *status(MPI_Status *given);

  // What the host MPI is given in place of `requests`: the same with MPI_REQUEST_NULL for those that are hidden now.
  // The array itself when none is. Valid until the next call.
  [[nodiscard]] MPI_Request *visible(MPI_Request *requests);
  [[nodiscard]] bool is_any_hidden() const noexcept { return is_any_hidden_; }
  // Whether request `index` is hidden at this moment.
  [[nodiscard]] bool hides(int index) const noexcept {
    return !entries_.empty() && is_hidden_now(entries_[static_cast<std::size_t>(index)]);
  }
  // A request that is complete and that the host MPI takes for inactive; -1: none. After visible() it says nothing of
  // those that were hidden then: another thread may complete one meanwhile, and it must be either hidden from the host
  // MPI or seen here.
  [[nodiscard]] int find_apart() const noexcept;
  // Brings what the host MPI did to visible() back into `requests`.
  void write_back(MPI_Request *requests) const noexcept;

  // For the table of waits: adds what completes the first active request from `from` on that is tracked.
  void tell(int from, waiting::Wait *wait) const noexcept;

  // Finishes request `index`, which the host MPI has completed with *status. `retires`: the completion call also ended
  // the request (MPI_Request_get_status does not). Returns MPI_SUCCESS or the code of an error that was raised.
  int finish(int index, MPI_Status *status, bool retires = true);

  // As above for a request that the host MPI completed with an error: nothing is copied.
  void abandon(int index);

 private:
  struct Entry {
    MPI_Request request;
    progress::TrackedPtr tracked;
    bool is_hidden = false;  // in the last visible()
  };
  [[nodiscard]] static bool is_hidden_now(const Entry &entry) noexcept {
    return entry.tracked != nullptr && entry.tracked->is_active() && entry.tracked->is_hidden();
  }
  static void retire(Entry *entry);

  int count_;
  std::vector<Entry> entries_;  // one for each request when any is tracked, else none
  std::vector<MPI_Status> own_statuses_;
  std::vector<MPI_Request> visible_;
  bool is_any_hidden_ = false;
};

// A completion call that waits, for the table of waits. A value.
struct WaitingCall {
  std::string_view function;
  const Watched *watched;
  const int *n_done = nullptr;  // the requests in front of this one are complete; null: any may complete
};
// `subject`: a WaitingCall. Any thread.
void tell_waiting_call(const void *subject, waiting::Wait *wait) noexcept;

}  // namespace sluice::ops
