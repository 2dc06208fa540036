// SPDX-License-Identifier: BSD-3-Clause
// A collective call that the ranks of one node carry out together (ISC'25 poster; docs/adr/0014): each publishes where
// its device memory is, all decide alike from what all published, and each pulls what it gets over IPC, all copies in
// one list. No message is sent.
#pragma once

#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

// Carries `call`, blocking and within one group, out together with the other ranks, if all come to that. False: nothing
// has been done that counts, and each stages for itself. True: *result is what the call returns, an error raised
// already. `classified` says how classifying `sides` went: an error of it comes to all ranks, where they look at the
// call together. Blocks, in turns.
[[nodiscard]] bool carry_out_on_node(const Call &call, const Member &member, const Sides &sides,
                                     const Status &classified, int *result);

}  // namespace sluice::ops::coll
