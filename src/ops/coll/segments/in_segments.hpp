// SPDX-License-Identifier: BSD-3-Clause
// A long collective call that is staged, in segments: while one is with the host MPI the next is copied down and the
// one before it up (CCGrid'23, section IV, for collective operations; docs/adr/0022). Threads: any, one at a time on a
// communicator, as MPI has collective calls.
#pragma once

#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"

namespace sluice::ops::coll {

// Carries `call`, a blocking MPI_Bcast, MPI_Gather(v), MPI_Scatter(v), MPI_Allgather(v) or MPI_Alltoall(v, w) of one
// group, or a reduction that may be cut, out in segments, if all ranks come to that: each segment is one call of the
// host MPI's on all of them, host memory or not. Where no rank knows how long the call is for the others they ask each
// other nevertheless, and after vain questions less often. False: nothing has been done that counts. True: *result is
// what the call returns, an error raised already; an error that a rank has comes to all. Blocks, in turns, and nobody
// returns before all have moved their data.
[[nodiscard]] bool carry_out_in_segments(const Call &call, const Member &member, const Sides &sides,
                                         const Status &classified, int *result);

// Starts `call`, a non-blocking or persistent form of those that move data, so that the engine carries it out in
// segments, if the ranks have what that takes (segment_group.hpp): the first such call of a communicator only asks for
// it, and so do v and w forms while those that no rank knows the length of are short. False and true as above; whether
// it goes in segments is found while it is under way. Local, but for persistent calls.
[[nodiscard]] bool start_in_segments(const Call &call, const Member &member, Sides *sides, const Status &classified,
                                     int *result);

}  // namespace sluice::ops::coll
