// SPDX-License-Identifier: BSD-3-Clause
// Blocking collective calls in turns: a process that waits for the others must go on serving its peers, or a blocking
// send of device memory to it, made before its sender comes to the same call, would never end (docs/protocol.md,
// "Progress").
//
// MPI does not let a blocking collective match a non-blocking one. So the choice between them hangs on nothing but what
// all members know: that they have the channel open, and whether they meet before (docs/adr/0045). Threads: any, one at
// a time on a communicator, as MPI has collective calls.
#pragma once

#include "ops/coll/node/meeting.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

// `blocking` calls the host MPI's function, `start` its non-blocking form with a request. `own`: this rank's part of
// the meeting, for a call in which some may have to distrust the blocking one. Returns an error code, raised already,
// as all here do.
template <typename Blocking, typename Start>
int in_turns(MPI_Comm comm, Blocking blocking, Start start, const coll::Arrival &own = {.goes_on = true}) {
  return guarded(comm, [&]() -> int {
    if (!is_within_channel(comm) || coll::meet(comm, own).may_block) return reap(blocking());
    return reap(run_in_turns(start));
  });
}

// The members of `comm`, which are within the channel, come together as far as they need each other: this rank has
// nothing under way, or all are in the call, which depends on nobody outside then. Returns the host MPI's error code.
inline int come_together(MPI_Comm comm) {
  return coll::meet(comm, {.goes_on = true}).may_block ? MPI_SUCCESS : come_together_by_host(comm);
}

// The same for a call without a non-blocking form.
template <typename Blocking>
int after_barrier(MPI_Comm comm, Blocking blocking) {
  return guarded(comm, [&]() -> int {
    if (is_within_channel(comm)) {
      const int result = come_together(comm);
      if (result != MPI_SUCCESS) return result;
    }
    return reap(blocking());
  });
}

}  // namespace sluice::ops
