// SPDX-License-Identifier: BSD-3-Clause
// MPI_Allreduce in all its forms: everybody's buffer goes down, and the result up everywhere.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int allreduce(Call *call) {
  call->pattern = Pattern::kAllreduce;
  return carry_out(call, [call](const Member & /*member*/, Sides *sides) -> Status {
    const Access received = call->send.is_in_place() ? Access::kReadWrite : Access::kWrite;
    Status status = sides->send.classify(call->send, 1, {Access::kRead}, Use::kReduced);
    return status.is_ok() ? sides->recv.classify(call->recv, 1, {received}, Use::kReduced) : status;
  });
}

}  // namespace sluice::ops::coll
