// SPDX-License-Identifier: BSD-3-Clause
// The meeting of the ranks at the beginning of a blocking collective call on buffers, in which they compare the lengths
// that they give (docs/adr/0062). Threads: any, one at a time on a communicator, as MPI has collective calls.
#pragma once

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/meeting.hpp"

namespace sluice::ops::coll {

// What this rank knows of the call before it meets the others.
struct Prospect {
  bool stages = false;       // it has copies to make before it can block, which may fail
  bool is_for_host = false;  // the ranks will not look for another way than the host MPI's function: the same on all
                             // ranks whose lengths fit
};

// At the beginning of `call`, a blocking one: what its ranks come to. On one node they meet in shared memory; in a
// communicator's first calls, and on several nodes, they ask each other instead. Whatever is chosen by the lengths
// behind it, which may lie on either side of a threshold, is so for all ranks, or for none. Nothing (has_met is false)
// between groups, of neighbours, and where ranks never meet (SLUICE_COLL_MEET). Blocks, in turns. Hot.
[[nodiscard]] Meeting meet_for_call(const Call &call, const Member &member, const Prospect &own);
// The same in two halves where all have `group`, for a rank that is in a call of the ranks together. False: there is no
// meeting for this call, on any rank.
[[nodiscard]] bool begin_meeting_for_call(const Call &call, NodeGroup *group);
[[nodiscard]] Meeting hear_of_meeting_for_call(const Call &call, NodeGroup *group);

}  // namespace sluice::ops::coll
