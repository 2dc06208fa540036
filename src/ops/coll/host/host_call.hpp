// SPDX-License-Identifier: BSD-3-Clause
// HostCall: a blocking collective call of the host MPI's on this rank, on memory that it may touch. Errors and bytes
// are those of the host MPI's blocking function alone, also where ranks give lengths that do not fit (docs/adr/0062).
#pragma once

#include <functional>

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/meeting.hpp"

namespace sluice::ops::coll {

// The thread of that call alone.
class HostCall {
 public:
  // `member` is null where nobody knows what the process is. `meeting`: of meet_for_call() (node/call_meeting.hpp). All
  // outlive this.
  HostCall(const Call &call, const Member *member, const Meeting &meeting)
      : call_(call), member_(member), meeting_(meeting) {}

  // The ranks have compared their lengths. Otherwise messages may be shorter than their blocks, and nobody is told.
  [[nodiscard]] bool compares_lengths() const noexcept { return meeting_.has_met && meeting_.knows_lengths; }

  // Calls the host MPI's blocking function where the meeting says so; else its non-blocking one in turns. Where a rank
  // staged, and some may distrust the blocking one, they meet again for that, now that its copies are made: in shared
  // memory, or where lengths do not fit. There `refill` is called before, which brings what the program has in its
  // buffers to where the host MPI works. Blocks, in turns. Returns an error code, raised already.
  [[nodiscard]] int run(const std::function<void()> &refill);
  [[nodiscard]] bool is_refilled() const noexcept { return is_refilled_; }

 private:
  [[nodiscard]] int call_fitting(const std::function<void()> &refill);

  const Call &call_;
  const Member *member_;
  Meeting meeting_;
  bool is_refilled_ = false;
};

}  // namespace sluice::ops::coll
