// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gather and MPI_Gatherv in all their forms: a block of everybody, and all of them at the root.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int gather(Call *call) {
  call->pattern = Pattern::kGather;
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    const Role role = member.role(call->root);
    if (role == Role::kOther || (role == Role::kRoot && !member.is_inter)) {
      if (Status status = sides->send.classify(call->send, 1, {Access::kRead}, Use::kMoved); !status.is_ok()) {
        return status;
      }
    }
    if (role != Role::kRoot) return {};
    BlockAccess access{Access::kWrite};
    // The root's own block is in place already.
    if (call->send.is_in_place()) access = {Access::kWrite, member.rank, Access::kReadWrite};
    return sides->recv.classify(call->recv, member.n_peers, access, Use::kMoved);
  });
}

}  // namespace sluice::ops::coll
