// SPDX-License-Identifier: BSD-3-Clause
// A blocking collective call that a rank may have to refuse (ops/env/refusal.hpp): then all members return an error,
// and nobody waits for a rank that did not come.
#pragma once

#include <limits>
#include <string>

#include "base/status.hpp"
#include "ops/request/collective.hpp"

namespace sluice::ops {

// As after_barrier; `refused`: why this rank cannot make the call, or a Status that is fine.
template <typename Blocking>
int after_agreement(MPI_Comm comm, const Status &refused, Blocking blocking) {
  return guarded(comm, [&]() -> int {
    if (!is_within_channel(comm)) return refused.is_ok() ? reap(blocking()) : raise(comm, refused);
    constexpr int kNobody = std::numeric_limits<int>::max();
    int refusing = kNobody;  // the lowest rank
    int result = refused.is_ok() ? MPI_SUCCESS : wire::host().MPI_Comm_rank(comm, &refusing);
    if (result != MPI_SUCCESS) return result;
    MPI_Request request = MPI_REQUEST_NULL;
    result = wire::host().MPI_Iallreduce(MPI_IN_PLACE, &refusing, 1, MPI_INT, MPI_MIN, comm, &request);
    if (result == MPI_SUCCESS) result = wait_in_turns(&request, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS) return result;
    if (refusing == kNobody) return reap(blocking());
    if (!refused.is_ok()) return raise(comm, refused);
    return raise(comm, Status::error(ErrorKind::kBadBuffer,
                                     "rank " + std::to_string(refusing) +
                                         " of the communicator gave this call device memory, on which Sluice does not "
                                         "carry it out; give it host memory on all ranks"));
  });
}

}  // namespace sluice::ops
