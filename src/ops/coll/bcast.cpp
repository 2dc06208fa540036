// SPDX-License-Identifier: BSD-3-Clause
// MPI_Bcast in all its forms: the root's buffer goes down, the others' go up.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int bcast(Call *call) {
  call->pattern = Pattern::kBroadcast;
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    const Role role = member.role(call->root);
    if (role == Role::kIdle) return {};
    return sides->recv.classify(call->recv, 1, {role == Role::kRoot ? Access::kRead : Access::kWrite}, Use::kMoved);
  });
}

}  // namespace sluice::ops::coll
