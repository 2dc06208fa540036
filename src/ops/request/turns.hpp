// SPDX-License-Identifier: BSD-3-Clause
// Waiting for the host MPI in turns: for calls that must not block because peers need something of this process.
// Threads: any; what waits is not for tasks.
#pragma once

#include "base/waiting.hpp"
#include "ops/env/errors.hpp"
#include "progress/engine.hpp"
#include "progress/host_turns.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

// Completes `request`, which nothing of Sluice's hangs on. Takes in what other ranks say meanwhile, where the channel
// is open. Returns the host MPI's error code.
inline int wait_in_turns(MPI_Request *request, MPI_Status *status) {
  // A rank that has something to say waits until it is heard: who waits for long, and gives its core away between
  // turns, looks in each.
  constexpr unsigned kTurnsBetween = 64;
  constexpr unsigned kManyTurns = 512;
  int result = MPI_SUCCESS;
  unsigned n_turns = 0;
  progress::turn_until([&] {
    int is_done = 0;
    result = wire::host().MPI_Test(request, &is_done, status);
    if (result != MPI_SUCCESS || is_done != 0) return true;
    ++n_turns;
    const bool is_due = n_turns % kTurnsBetween == 0 || n_turns > kManyTurns;
    if (is_due && wire::Channel::process().is_open()) progress::HostTurns::serve_host();
    return false;
  });
  return result;
}

// The same of a request that `start` has the host MPI make in the place that it is given; `start` returns a code of the
// host MPI's, which this returns, too, when it is an error.
template <typename Start>
int run_in_turns(const Start &start) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start(&request);
  return code == MPI_SUCCESS ? wait_in_turns(&request, MPI_STATUS_IGNORE) : code;
}

// Asks about `request`, which nothing of Sluice's hangs on. True: it is complete, or there is none; the host MPI's
// refusal to say, which there is nobody to tell of, counts as the end. Does not block.
[[nodiscard]] inline bool is_over(MPI_Request *request) noexcept {
  if (*request == MPI_REQUEST_NULL) return true;
  int is_done = 0;
  return wire::host().MPI_Test(request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done != 0;
}

// A program that freed an active receive may learn from a collective call that its message has come; what Sluice owes
// on such requests is done here.
inline int reap(int result) {
  progress::TrackedRequests::process().reap_what_came();
  return result;
}

// For the table of waits. `subject`: a progress::Tracked.
inline void tell_tracked(const void *subject, waiting::Wait *wait) noexcept {
  static_cast<const progress::Tracked *>(subject)->tell(wait);
}

// Completes `request`, which belongs to `tracked`: a send or a receive that is not in the table of requests. Blocks, in
// turns. Returns an error code, raised already.
inline int complete_in_turns(progress::Tracked *tracked, MPI_Request *request, MPI_Status *status) {
  const waiting::Described described(&tell_tracked, tracked);
  int result = MPI_SUCCESS;
  progress::turn_until([&] {
    if (tracked->is_hidden()) return false;
    int is_done = 0;
    result = wire::host().MPI_Test(request, &is_done, status);
    return result != MPI_SUCCESS || is_done != 0;
  });
  if (reap(result) != MPI_SUCCESS) return result;
  const Status finished = tracked->finish(status);
  return finished.is_ok() ? MPI_SUCCESS : raise(tracked->communicator(), finished);
}

}  // namespace sluice::ops
