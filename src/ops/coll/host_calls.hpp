// SPDX-License-Identifier: BSD-3-Clause
// Blocking collective calls that move no buffers of the program, or none that Sluice serves: the host MPI carries them
// out, in turns (node/in_turns.hpp).
#pragma once

#include <limits>
#include <string>

#include "base/status.hpp"
#include "ops/coll/levels/node_levels.hpp"
#include "ops/coll/node/in_turns.hpp"
#include "ops/coll/node/request_group.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/turns.hpp"

namespace sluice::ops {

// As after_barrier, for a call that a rank may have to refuse (ops/refusal/refusal.hpp): then all members return an
// error, and nobody waits for a rank that did not come. `refused`: why this rank cannot make the call, or a Status that
// is fine.
template <typename Blocking>
int after_agreement(MPI_Comm comm, const Status &refused, Blocking blocking) {
  return guarded(comm, [&]() -> int {
    if (!is_within_channel(comm)) return refused.is_ok() ? reap(blocking()) : raise(comm, refused);
    constexpr int kNobody = std::numeric_limits<int>::max();
    int own = kNobody;
    int result = refused.is_ok() ? MPI_SUCCESS : wire::host().MPI_Comm_rank(comm, &own);
    if (result != MPI_SUCCESS) return result;
    Agreement<1> refusing;  // the lowest rank
    refusing.say({own});
    MPI_Request request = MPI_REQUEST_NULL;
    result = refusing.start(comm, &request);
    if (result == MPI_SUCCESS) result = wait_in_turns(&request, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS) return result;
    if (refusing.least(0) == kNobody) return reap(blocking());
    if (!refused.is_ok()) return raise(comm, refused);
    return raise(comm, Status::error(ErrorKind::kBadBuffer,
                                     "rank " + std::to_string(refusing.least(0)) +
                                         " of the communicator gave this call device memory, on which Sluice does not "
                                         "carry it out; give it host memory on all ranks"));
  });
}

// As after_barrier for a call that makes a communicator, *made, of `comm`.
template <typename Blocking>
int make_after_barrier(MPI_Comm comm, const MPI_Comm *made, Blocking blocking) {
  const int result = after_barrier(comm, blocking);
  if (result == MPI_SUCCESS) coll::NodeLevels::make_for_new(comm, *made);
  if (result == MPI_SUCCESS) coll::RequestGroup::make_ahead(*made);
  return result;
}

// MPI_Barrier. That all have come together is not all that programs see of it: while it waits the host MPI takes in
// what others sent before they came, so that one MPI_Win_test or MPI_Test behind it finds that. So it is called, too.
inline int barrier_in_turns(MPI_Comm comm) {
  return guarded(comm, [&]() -> int {
    if (Status status = coll::NodeLevels::seek(comm); !status.is_ok()) return raise(comm, status);
    return in_turns(
        comm, [&] { return wire::host().MPI_Barrier(comm); },
        [&](MPI_Request *request) { return wire::host().MPI_Ibarrier(comm, request); });
  });
}

}  // namespace sluice::ops
