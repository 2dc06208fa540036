// SPDX-License-Identifier: BSD-3-Clause
// Blocking collective calls that move no buffers of the program, or none that Sluice serves: the host MPI carries them
// out, in turns (node/in_turns.hpp). Threads: any, one at a time on a communicator, as MPI has collective calls.
#pragma once

#include "base/status.hpp"
#include "base/waiting.hpp"
#include "ops/coll/levels/node_levels.hpp"
#include "ops/coll/node/in_turns.hpp"
#include "ops/coll/node/request_group.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/wait_words.hpp"
#include "ops/request/turns.hpp"

namespace sluice::ops {

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
  const CallOnComm call{"MPI_Barrier", comm};
  const waiting::Described described(&tell_call_on_comm, &call);
  return guarded(comm, [&]() -> int {
    if (Status status = coll::NodeLevels::seek(comm); !status.is_ok()) return raise(comm, status);
    return in_turns(
        comm, [&] { return wire::host().MPI_Barrier(comm); },
        [&](MPI_Request *request) { return wire::host().MPI_Ibarrier(comm, request); });
  });
}

}  // namespace sluice::ops
