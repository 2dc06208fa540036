// SPDX-License-Identifier: BSD-3-Clause
#include "ops/comm/peer_words.hpp"

#include <exception>

#include "ops/comm/comm_state.hpp"
#include "ops/env/wait_words.hpp"

namespace sluice::ops {

void tell_peer_at_once(MPI_Comm comm, int peer, int tag, waiting::Wait *wait) noexcept {
  wait->peer = peer == MPI_ANY_SOURCE ? waiting::kAnybody : peer;
  wait->tag = tag == MPI_ANY_TAG ? waiting::kAnyTag : tag;
  if (comm != MPI_COMM_WORLD) return;
  wait->world_peer = peer >= 0 ? peer : waiting::kNobody;
  waiting::put("MPI_COMM_WORLD", &wait->communicator);
}

void tell_peer(MPI_Comm comm, int peer, int tag, waiting::Wait *wait) noexcept {
  tell_peer_at_once(comm, peer, tag, wait);
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_NULL) return;
  tell_communicator(comm, wait);
  try {
    int world_peer = -1;
    if (peer >= 0) static_cast<void>(peer_of(comm, peer, &world_peer));
    wait->world_peer = world_peer;
  } catch (const std::exception &) {
    wait->world_peer = waiting::kNobody;  // no memory for the communicator's ranks
  }
}

}  // namespace sluice::ops
