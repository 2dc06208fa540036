// SPDX-License-Identifier: BSD-3-Clause
// carry_out_on_node(): whether the ranks of a node carry a collective call out together, and then the call in its form.
// Threads: any, one at a time on a communicator, as MPI has collective calls.
#pragma once

#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/node/meeting.hpp"

namespace sluice::ops::coll {

// Carries `call` out together with the other ranks, if all come to that. False: nothing has been done that counts, and
// each stages for itself; call->is_short_for_all may be the reason. True: *result is what the call returns, an error
// raised already; of a non-blocking or persistent call *sides is moved from. `classified` says how classifying *sides
// went: an error of it comes to all ranks, where they look at the call together. A blocking call, and one that makes a
// persistent request, blocks, in turns.
// *meeting: of a blocking call, what its ranks came to at its beginning (meet_for_call), where they met.
[[nodiscard]] bool carry_out_on_node(Call *call, const Member &member, Sides *sides, const Status &classified,
                                     Meeting *meeting, int *result);

}  // namespace sluice::ops::coll
