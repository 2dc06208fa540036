// SPDX-License-Identifier: BSD-3-Clause
// MPI_Allgather and MPI_Allgatherv in all their forms: a block of everybody, and all of them everywhere.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int allgather(Call *call) {
  call->pattern = Pattern::kAllgather;
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    Status status = sides->send.classify(call->send, 1, {Access::kRead}, Use::kMoved);
    if (!status.is_ok()) return status;
    BlockAccess access{Access::kWrite};
    // Everybody's own block is in place already.
    if (call->send.is_in_place()) access = {Access::kWrite, member.rank, Access::kReadWrite};
    // MPICH cuts the blocks of MPI_Allgatherv into messages by the extent of the type: if one rank packed, and so
    // changed it, and another did not, some would wait for messages that nobody sends.
    const Use use = call->recv.counts.is_named() ? Use::kCut : Use::kMoved;
    return sides->recv.classify(call->recv, member.n_peers, access, use);
  });
}

}  // namespace sluice::ops::coll
