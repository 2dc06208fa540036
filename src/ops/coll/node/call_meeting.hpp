// SPDX-License-Identifier: BSD-3-Clause
// The meeting of the ranks at the beginning of a blocking collective call on buffers, in which they compare the lengths
// that they give (docs/adr/0062).
#pragma once

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/meeting.hpp"

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

}  // namespace sluice::ops::coll
