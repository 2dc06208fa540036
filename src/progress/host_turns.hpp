// SPDX-License-Identifier: BSD-3-Clause
// HostTurns: requests that are the host MPI's alone to advance, and that the progress thread has to see through all the
// same. A staged message longer than the host's eager limit goes no further while neither rank is in MPI, and there is
// nothing of ours to do for it: this keeps the engine turning, and lets the host MPI go on in each turn.
#pragma once

#include <memory>
#include <vector>

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

 private:
  std::vector<std::weak_ptr<Tracked>> served_;  // with mutex_
};

}  // namespace sluice::progress
