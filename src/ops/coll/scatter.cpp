// SPDX-License-Identifier: BSD-3-Clause
// MPI_Scatter and MPI_Scatterv in all their forms: a block for everybody, all of them at the root.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int scatter(Call *call) {
  call->pattern = Pattern::kScatter;
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    const Role role = member.role(call->root);
    if (role == Role::kRoot) {
      if (Status status = sides->send.classify(call->send, member.n_peers, {Access::kRead}, Use::kMoved);
          !status.is_ok()) {
        return status;
      }
    }
    // With MPI_IN_PLACE the root's own block stays where it is.
    if (role == Role::kIdle || (role == Role::kRoot && member.is_inter)) return {};
    return sides->recv.classify(call->recv, 1, {Access::kWrite}, Use::kMoved);
  });
}

}  // namespace sluice::ops::coll
