// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_free: first the duplicate is made that a non-blocking call has begun (request_group.hpp). MPI lets a program
// free a communicator with operations under way, but Open MPI 4.1 then looks at what is gone.
#include "generated/operations.hpp"
#include "ops/coll/request_group.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/comm_state.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

int comm_free(MPI_Comm *comm) {
  if (coll::RequestGroup::n_duplicating() == 0 || comm == nullptr || *comm == MPI_COMM_NULL) {
    return wire::host().MPI_Comm_free(comm);
  }
  return guarded(MPI_COMM_SELF, [comm] {
    if (const CommStatePtr state = state_of(*comm); state != nullptr && state->request_group != nullptr) {
      // All ranks have begun it, so that it comes to its end whatever they do next.
      progress::turn_beside_host_until([&] { return state->request_group->is_duplicated(); });
    }
    return wire::host().MPI_Comm_free(comm);
  });
}

}  // namespace sluice::ops
