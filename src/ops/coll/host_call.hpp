// SPDX-License-Identifier: BSD-3-Clause
// HostCall: a blocking collective call of the host MPI's on this rank, on memory that it may touch. Errors and bytes
// are those of the host MPI's blocking function alone, also where ranks give lengths that do not fit (docs/adr/0062).
#pragma once

#include <functional>

#include "ops/coll/call.hpp"
#include "ops/coll/meeting.hpp"
#include "ops/coll/member.hpp"

namespace sluice::ops::coll {

// At the beginning of `call`, a blocking one: what its ranks come to. On one node they meet in shared memory; in a
// communicator's first calls, and on several nodes, they ask each other instead. Whatever is chosen by the lengths
// behind it, which may lie on either side of a threshold, is so for all ranks, or for none. Nothing (has_met is false)
// between groups, of neighbours, and where ranks never meet (SLUICE_COLL_MEET). `stages`: this rank has copies to make
// before it can block, which may fail. Blocks, in turns. Hot.
[[nodiscard]] Meeting meet_for_call(const Call &call, const Member &member, bool stages);
// This rank's part of the meeting, where all have `group`, and it goes on without waiting (pass_meeting). False: there
// is none for this call, on any rank.
[[nodiscard]] bool pass_for_call(const Call &call, const Member &member, NodeGroup *group);

class HostCall {
 public:
  // `member` is null where nobody knows what the process is. `meeting`: of meet_for_call(). All outlive this.
  HostCall(const Call &call, const Member *member, const Meeting &meeting)
      : call_(call), member_(member), meeting_(meeting) {}

  // The ranks have compared their lengths. Otherwise messages may be shorter than their blocks, and nobody is told.
  [[nodiscard]] bool compares_lengths() const noexcept { return meeting_.has_met; }

  // Calls the host MPI's blocking function where all ranks know that they are in the call, and trust it with what they
  // gave; else its non-blocking one in turns. Where a rank staged they meet again for that, now that its copies are
  // made: in shared memory, or where lengths do not fit. There `refill` is called before, which brings what the program
  // has in its buffers to where the host MPI works. Blocks, in turns. Returns an error code, raised already.
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
