// SPDX-License-Identifier: BSD-3-Clause
// HostTurns: requests that are the host MPI's alone to advance, and that the progress thread has to see through all the
// same. A staged message longer than the host's eager limit goes no further while neither rank is in MPI, and there is
// nothing of ours to do for it: this keeps the engine turning, and lets the host MPI go on in each turn.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::progress {

class HostTurns final : public RecurringTask {
 public:
  // The process's. Never destroyed.
  static HostTurns &process() { return process_task<HostTurns>(); }

  // `tracked` has been started: the host MPI is served until it is no longer active, or gone. Nothing without a
  // progress thread: then a process is served while it is in MPI. Any thread.
  void serve(const TrackedPtr &tracked);

  [[nodiscard]] bool advance() override;

  // Lets the host MPI go on with all that is under way in it, and takes in what other ranks said (notices.hpp). Any
  // thread, as the host MPI allows.
  static void serve_host() noexcept;

 private:
  std::vector<std::weak_ptr<Tracked>> served_;  // with mutex_
};

// Turns until `is_done` says so, for what no request of the host MPI tells. Lets the host MPI go on too: a peer may
// need a message to move in there before it comes to what is waited for here. Whatever a turn throws does not end the
// wait, because others count on what comes after it.
template <typename Condition>
void turn_beside_host_until(Condition is_done) {
  constexpr unsigned kTurnsBetween = 32;  // a look of the host MPI's takes as long as many of ours
  Patience patience;
  for (unsigned n_turns = 1;; ++n_turns) {
    try {
      Engine::process().turn();
    } catch (const std::exception &error) {
      log::warn_once("turn", "progress", std::string("a turn failed: ") + error.what());
    }
    if (is_done()) return;
    if (n_turns % kTurnsBetween == 0) HostTurns::serve_host();
    patience.pause();
  }
}

}  // namespace sluice::progress
