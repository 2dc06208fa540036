// SPDX-License-Identifier: BSD-3-Clause
// Which staged reductions are computed in the order of the ranks, for SLUICE_REDUCE_ORDER=rank: the host MPI's own
// functions take the ranks in whatever order is fast (docs/adr/0030). All of it: any thread.
#pragma once

#include "ops/coll/call/call.hpp"

namespace sluice::ops::coll {

// Whether SLUICE_REDUCE_ORDER asks for the order of the ranks, and another would show in the result. The same on all
// ranks.
[[nodiscard]] bool keeps_rank_order(const Call &call);

// Tells the debug log.
void say_fold(const Call &call);

}  // namespace sluice::ops::coll
