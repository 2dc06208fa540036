// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/channel_pairs.hpp"

#include <algorithm>

#include "ops/p2p/comm_state.hpp"
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
  if (n_comms_gone_ != n_comms_gone()) reached_.clear();
  const auto known = std::ranges::find_if(
      reached_, [&](const Pair &pair) { return pair.comm == given.comm && pair.peer == given.peer; });
  *is_reached = known != reached_.end();
  if (*is_reached) *key = known->key;
  if (!*is_reached) {
    *key = {};
    // One that is not is not kept: its communicator may be one of which nobody says when it goes.
    if (!ask_whether_reached(given, &key->peer)) return {};
    if (Status status = comm_number(given.comm, 32, &key->comm); !status.is_ok()) return status;
    *is_reached = true;
    if (reached_.size() == kMost) reached_.clear();
    if (reached_.empty()) n_comms_gone_ = n_comms_gone();
    reached_.push_back({given.comm, given.peer, *key});
  }
  key->tag = given.tag;
  return {};
}

}  // namespace sluice::ops::queue
