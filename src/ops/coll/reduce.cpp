// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce in all its forms: everybody's buffer goes down, and the result up at the root alone.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int reduce(Call *call) {
  call->pattern = Pattern::kReduce;
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    const Role role = member.role(call->root);
    if (role == Role::kOther || (role == Role::kRoot && !member.is_inter)) {
      if (Status status = sides->send.classify(call->send, 1, {Access::kRead}, Use::kReduced); !status.is_ok()) {
        return status;
      }
    }
    if (role != Role::kRoot) return {};
    const Access received = call->send.is_in_place() ? Access::kReadWrite : Access::kWrite;
    return sides->recv.classify(call->recv, 1, {received}, Use::kReduced);
  });
}

}  // namespace sluice::ops::coll
