// SPDX-License-Identifier: BSD-3-Clause
// A blocking reduction in the order of the ranks, by exchanges of the host MPI's (fold/fold.hpp). Threads: any, one at
// a time on a communicator, as MPI has collective calls.
#pragma once

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"

namespace sluice::ops::coll {

// Carries a blocking `call` out on memory that the host MPI may touch (fold.hpp). Takes memory for one share of all
// inputs, of a few MiB at a time (MPI_Reduce_scatter: of all of it). Collective; blocks, in turns. Returns an error
// code of the host MPI's. May throw std::bad_alloc.
[[nodiscard]] int fold_in_rank_order(const Call &call, const Member &member);

}  // namespace sluice::ops::coll
