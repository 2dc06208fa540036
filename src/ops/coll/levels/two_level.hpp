// SPDX-License-Identifier: BSD-3-Clause
// A collective call of several nodes in two levels: inside each node over IPC, across the nodes through staging memory
// and the host MPI, so that no byte is staged twice on a node (docs/adr/0016). Threads: any, one at a time on a
// communicator, as MPI has collective calls.
#pragma once

#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"

namespace sluice::ops::coll {

// Carries a blocking `call` of one group out in two levels, if all ranks decide so: MPI_Bcast, MPI_Allgather,
// MPI_Allgatherv, MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter or MPI_Reduce_scatter_block. Each level is a collective
// call of Sluice's on a communicator of its own. False: nothing has been done that counts. True: *result is what the
// call returns, and an error was raised already. Blocks, in turns.
[[nodiscard]] bool carry_out_in_levels(const Call &call, const Member &member, const Sides &sides,
                                       const Status &classified, int *result);

// The same for a non-blocking or persistent MPI_Allreduce; *sides is moved from. One that makes a persistent request
// blocks, in turns; the other is local.
[[nodiscard]] bool start_in_levels(const Call &call, const Member &member, Sides *sides, const Status &classified,
                                   int *result);

}  // namespace sluice::ops::coll
