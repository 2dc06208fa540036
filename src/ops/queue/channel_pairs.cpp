// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/channel_pairs.hpp"

#include "ops/comm/comm_state.hpp"
#include "ops/queue/comm_number.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {
namespace {

bool ask_whether_reached(const Arguments &given, int *world_rank) {
  if (given.peer < 0) return false;  // MPI_PROC_NULL
  int is_inter = 0;
  if (wire::host().MPI_Comm_test_inter(given.comm, &is_inter) != MPI_SUCCESS || is_inter != 0) return false;
  const wire::Channel &channel = wire::Channel::process();
  return peer_of(given.comm, given.peer, world_rank) != plan::Peer::kUnknown && *world_rank != channel.rank() &&
         channel.is_local(*world_rank) && is_within_channel(given.comm);
}

}  // namespace

Status ChannelPairs::find(const Arguments &given, bool *is_reached, ChannelKey *key) {
  const Pair *known =
      reached_.find([&](const Pair &pair) { return pair.comm == given.comm && pair.peer == given.peer; });
  *is_reached = known != nullptr;
  if (known != nullptr) {
    *key = known->key;
  } else {
    *key = {};
    // One that is not is not kept: its communicator may be one without a state.
    if (!ask_whether_reached(given, &key->peer)) return {};
    if (Status status = comm_number(given.comm, 32, &key->comm); !status.is_ok()) return status;
    *is_reached = true;
    reached_.keep({given.comm, given.peer, *key});
  }
  key->tag = given.tag;
  return {};
}

}  // namespace sluice::ops::queue
