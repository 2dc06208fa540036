// SPDX-License-Identifier: BSD-3-Clause
// carry_out(): a collective call from its arguments to its end. An operation's own file says which of its arguments
// count at this rank; all that follows is the same for all of them. Threads: any, one at a time on a communicator, as
// MPI has collective calls.
#pragma once

#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/env/errors.hpp"

namespace sluice::ops::coll {

// Plan, execute and complete, after `classified`, which says how classifying went. The ranks try the ways of
// plan/ways.hpp one after the other: together in a node, in two levels, in segments. What none of them carries
// out is staged whole, which each rank decides for itself: staging memory stands for what the host MPI may not touch,
// and the host MPI does the rest. `member` is null where nobody has to know.
int plan_and_execute(Call *call, const Member *member, Sides *sides, const Status &classified);

// `classify` is given the member, and classifies the sides that count.
template <typename Classify>
int carry_out(Call *call, Classify classify) {
  return guarded(call->comm, [&]() -> int {
    Sides sides;
    Status classified;
    Member member;
    const bool is_known = look_whether_member_matters() && Member::of(call->comm, &member);
    if (is_known && look_whether_sides_matter()) {
      classified = classify(member, &sides);
      sides.look_for_overlap(call->comm);
    }
    return plan_and_execute(call, is_known ? &member : nullptr, &sides, classified);
  });
}

}  // namespace sluice::ops::coll
