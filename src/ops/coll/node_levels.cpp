// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_levels.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/p2p/comm_state.hpp"
#include "ops/request/collective.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

std::vector<std::uint64_t> nodes_of(const CommState &state) {
  const wire::Channel &channel = wire::Channel::process();
  std::vector<std::uint64_t> nodes;
  nodes.reserve(state.world_ranks.size());
  for (const int rank : state.world_ranks) nodes.push_back(channel.node_of(rank));
  return nodes;
}

}  // namespace

NodeMap map_nodes(const std::vector<std::uint64_t> &nodes) {
  NodeMap map;
  std::vector<std::uint64_t> known;
  std::vector<int> n_local;
  for (const std::uint64_t id : nodes) {
    const auto found = std::find(known.begin(), known.end(), id);
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(id);
      n_local.push_back(0);
    }
    map.node.push_back(static_cast<int>(index));
    map.local.push_back(n_local[index]++);
  }
  map.n_nodes = static_cast<int>(known.size());
  if (n_local.empty()) return map;
  const auto [least, most] = std::minmax_element(n_local.begin(), n_local.end());
  map.least_local = *least;
  map.most_local = *most;
  map.is_node_major = std::is_sorted(map.node.begin(), map.node.end());
  return map;
}

int NodeMap::rank_in_lane(int lane, int of_node) const noexcept {
  int before = 0;
  for (std::size_t rank = 0; rank < node.size(); ++rank) {
    if (local[rank] != lane) continue;
    if (node[rank] == of_node) return before;
    ++before;
  }
  return -1;
}

NodeLevels::~NodeLevels() {
  // Before MPI_Finalize has begun all ranks give the communicator back together; later on the host MPI does.
  if (!wire::Channel::process().is_open()) return;
  for (MPI_Comm *comm : {&node_, &lane_}) {
    if (*comm != MPI_COMM_NULL) [[maybe_unused]]
      const int freed = wire::host().MPI_Comm_free(comm);
  }
}

Status NodeLevels::split(MPI_Comm comm, const Member &member) {
  const wire::Host &host = wire::host();
  const auto rank = static_cast<std::size_t>(member.rank);
  const int result = after_barrier(comm, [&]() -> int {
    int code = host.MPI_Comm_split(comm, map_.node[rank], member.rank, &node_);
    if (code == MPI_SUCCESS) code = host.MPI_Comm_split(comm, map_.local[rank], member.rank, &lane_);
    if (code == MPI_SUCCESS) code = host.MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN);
    return code == MPI_SUCCESS ? host.MPI_Comm_set_errhandler(lane_, MPI_ERRORS_RETURN) : code;
  });
  if (result == MPI_SUCCESS) return {};
  return Status::error(ErrorKind::kBackend,
                       "the host MPI could not divide a communicator by nodes; set SLUICE_COLL_LEVELS=off");
}

Status NodeLevels::of(MPI_Comm comm, const Member &member, std::shared_ptr<NodeLevels> *levels) {
  levels->reset();
  if (member.is_inter || member.size < 3) return {};
  const CommStatePtr state = state_of(comm);
  if (state == nullptr || !state->is_within_world || state->is_on_one_node) return {};
  if (!state->has_sought_node_levels) {
    NodeMap map = map_nodes(nodes_of(*state));
    if (map.n_nodes > 1 && map.most_local > 1) {
      auto made = std::make_shared<NodeLevels>(std::move(map));
      if (Status status = made->split(comm, member); !status.is_ok()) return status;
      state->node_levels = std::move(made);
    }
    state->has_sought_node_levels = true;
  }
  *levels = state->node_levels;
  return {};
}

}  // namespace sluice::ops::coll
