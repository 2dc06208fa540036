// SPDX-License-Identifier: BSD-3-Clause
// A staged reduction in the order of the ranks, for SLUICE_REDUCE_ORDER=rank: the host MPI's own functions take the
// ranks in whatever order is fast (docs/adr/0030).
#pragma once

#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

// Whether `call`, of any form, is to be folded so where no device computes it: a reduction of one group by a predefined
// operation on a type that rounds. The same on all ranks. Operations of more elements in blocks than an int tells are
// left to the host MPI, in its order.
[[nodiscard]] bool is_folded_in_rank_order(const Call &call, const Member &member);

// Tells the debug log.
void say_fold(const Call &call);

// Carries a blocking `call` out on memory that the host MPI may touch (fold.hpp). Takes memory for one share of all
// inputs, of a few MiB at a time (MPI_Reduce_scatter: of all of it). Collective; blocks, in turns. Returns an error
// code of the host MPI's. May throw std::bad_alloc.
[[nodiscard]] int fold_in_rank_order(const Call &call, const Member &member);

}  // namespace sluice::ops::coll
