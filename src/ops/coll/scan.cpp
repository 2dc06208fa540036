// SPDX-License-Identifier: BSD-3-Clause
// MPI_Scan and MPI_Exscan in all their forms: the result of the ranks up to this one, or before it.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int scan(Call *call) {
  call->pattern = Pattern::kScan;
  return carry_out(call, [call](const Member & /*member*/, Sides *sides) -> Status {
    const Access received = call->send.is_in_place() ? Access::kReadWrite : Access::kWrite;
    Status status = sides->send.classify(call->send, 1, {Access::kRead}, Use::kReduced);
    return status.is_ok() ? sides->recv.classify(call->recv, 1, {received}, Use::kReduced) : status;
  });
}

int exscan(Call *call) {
  call->pattern = Pattern::kExscan;
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    Access received = call->send.is_in_place() ? Access::kReadWrite : Access::kWrite;
    // Nobody is before the first rank: it gets no result. The host MPI has room there to do as it likes.
    if (member.rank == 0) received = call->send.is_in_place() ? Access::kRead : Access::kNone;
    Status status = sides->send.classify(call->send, 1, {Access::kRead}, Use::kReduced);
    return status.is_ok() ? sides->recv.classify(call->recv, 1, {received}, Use::kReduced) : status;
  });
}

}  // namespace sluice::ops::coll
