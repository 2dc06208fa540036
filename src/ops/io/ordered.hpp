// SPDX-License-Identifier: BSD-3-Clause
// Ordered collective calls in blocks: the ranks agree on the place of each rank's data, and move the shared pointer
// behind all of it at the end.
#pragma once

#include <cstdint>

#include "ops/io/call.hpp"
#include "ops/io/joint_call.hpp"

namespace sluice::ops::io {

// Whether the ranks carry the call out so. The same on all of them, once they have asked each other. Pure.
[[nodiscard]] inline bool is_placed(const Call &call, const JointCall &joint) noexcept {
  return call.form->position == Position::kOrdered && joint.n_rounds() > 1;
}

// Such a call, in joint->n_rounds() rounds; what it came to stands in joint->outcome. Collective over the file's ranks,
// which may not be in another call; blocks, in turns until all know their places. If the place of the shared pointer
// cannot be found out, no rank reads or writes anything, and each has an error. One thread at a time on a file.
void run_ordered(const Call &call, JointCall *joint);

}  // namespace sluice::ops::io
