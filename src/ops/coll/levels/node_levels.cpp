// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/levels/node_levels.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "ops/coll/node/in_turns.hpp"
#include "ops/coll/node/request_group.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/quiet_errors.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops::coll {
namespace {

std::vector<std::uint64_t> nodes_of(const CommState &state) {
  const wire::Channel &channel = wire::Channel::process();
  std::vector<std::uint64_t> nodes;
  nodes.reserve(state.world_ranks.size());
  for (const int rank : state.world_ranks) nodes.push_back(channel.node_of(rank));
  return nodes;
}

// How many communicators of a process have levels made before they are asked for. Each takes three of the host MPI's
// communicators, of which MPICH has some 2000 in all, and three collective calls.
constexpr std::uint32_t kMostMadeAhead = 64;
constexpr std::uint32_t kShareOfNew = 8;  // a new one gets the eighth part of what is left

// Whether a call of this process has ever asked for levels, so that others need not look at their communicators.
std::atomic<bool> &has_wishes() noexcept {
  static std::atomic<bool> one{false};
  return one;
}

bool spans_nodes(MPI_Comm comm, const Member &member, const CommStatePtr &state) {
  return comm != MPI_COMM_NULL && !member.is_inter && member.size >= 3 && state != nullptr && state->is_within_world &&
         !state->is_on_one_node;
}

bool are_levels_on() noexcept {
  const wire::Channel &channel = wire::Channel::process();
  return channel.is_open() && channel.terms().levels_threshold_bytes != CollectiveTerms::kNever;
}

// Makes those of `comm`, if it can have any.
void make_ahead(MPI_Comm comm) {
  Member member;
  std::shared_ptr<NodeLevels> levels;
  if (!Member::of(comm, &member)) return;
  const Status status = NodeLevels::for_requests(comm, member, &levels);
  if (!status.is_ok()) log::warn("ops", status.message());
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
  for (MPI_Comm comm : {requests_.node, requests_.lane, blocking_.node, blocking_.lane}) wire::OwnedComm(comm).reset();
}

// Each of the two is there on all ranks or on none, before the next: no rank waits for one that has failed.
Status NodeLevels::split(MPI_Comm comm, const Member &member, Pair *pair, bool *is_made) const {
  const auto rank = static_cast<std::size_t>(member.rank);
  const std::pair<int, MPI_Comm *> parts[] = {{map_.node[rank], &pair->node}, {map_.local[rank], &pair->lane}};
  for (const auto &[color, made] : parts) {
    bool is_good = false;
    {
      const QuietErrors quiet(comm);
      const int code = after_barrier(
          comm, [&, of = color, to = made] { return wire::host().MPI_Comm_split(comm, of, member.rank, to); });
      is_good = QuietErrors::is_success(code);
    }
    if (!is_good) *made = MPI_COMM_NULL;
    if (const CommStatePtr state = is_good ? state_of(*made) : nullptr; state != nullptr) state->is_of_levels = true;
    is_good = is_good && wire::host().MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    if (Status status = agree_on_all(comm, is_good, is_made); !status.is_ok() || !*is_made) return status;
  }
  return {};
}

Status NodeLevels::of(MPI_Comm comm, const Member &member, std::shared_ptr<NodeLevels> *levels) {
  if (Status status = for_requests(comm, member, levels); !status.is_ok() || *levels == nullptr) return status;
  NodeLevels &made = **levels;
  Status status;
  if (!made.has_sought_blocking_) {
    status = made.split(comm, member, &made.blocking_, &made.has_blocking_);
    made.has_sought_blocking_ = true;
  }
  if (!made.has_blocking_) levels->reset();
  return status;
}

Status NodeLevels::for_requests(MPI_Comm comm, const Member &member, std::shared_ptr<NodeLevels> *levels) {
  levels->reset();
  const CommStatePtr state = state_of(comm);
  if (!spans_nodes(comm, member, state)) return {};
  auto &known = state->part<LevelsOfComm>();
  if (!known.has_sought) {
    NodeMap map = map_nodes(nodes_of(*state));
    if (map.n_nodes > 1 && map.most_local > 1) {
      auto made = std::make_shared<NodeLevels>(std::move(map));
      bool is_made = false;
      Status status = made->split(comm, member, &made->requests_, &is_made);
      if (is_made) status = made->whole_.make(comm, &is_made);
      if (!status.is_ok()) return status;
      if (is_made) {
        RequestGroup::make_ahead(made->requests_.node);
        known.levels = std::move(made);
      }
    }
    known.has_sought = true;
  }
  *levels = known.levels;
  return {};
}

std::shared_ptr<NodeLevels> NodeLevels::find(MPI_Comm comm, const Member &member) {
  const CommStatePtr state = state_of(comm);
  if (!spans_nodes(comm, member, state)) return nullptr;
  auto &known = state->part<LevelsOfComm>();
  if (!known.has_sought) {
    known.are_wanted = true;
    has_wishes().store(true, std::memory_order_relaxed);
  }
  return known.levels;
}

Status NodeLevels::seek(MPI_Comm comm) {
  if (!has_wishes().load(std::memory_order_relaxed)) return {};
  const CommStatePtr state = state_of(comm);
  if (state == nullptr || !state->part<LevelsOfComm>().are_wanted) return {};
  state->part<LevelsOfComm>().are_wanted = false;  // making them is a blocking call, too
  Member member;
  std::shared_ptr<NodeLevels> levels;
  return Member::of(comm, &member) ? for_requests(comm, member, &levels) : Status();
}

void NodeLevels::make_for_world() noexcept {
  try {
    if (!are_levels_on()) return;
    make_ahead(MPI_COMM_WORLD);
    const CommStatePtr world = state_of(MPI_COMM_WORLD);
    if (world == nullptr) return;
    auto &known = world->part<LevelsOfComm>();
    if (known.levels != nullptr) known.n_ahead = kMostMadeAhead;
  } catch (const std::exception &error) {
    log::warn("ops", error.what());
  }
}

// A communicator is given a part of what is left to the one that it is made of, which is the same on all ranks of that:
// so all of the new one come to the same, and a process to no more than it may have.
void NodeLevels::make_for_new(MPI_Comm parent, MPI_Comm made) noexcept {
  try {
    if (!are_levels_on()) return;
    const CommStatePtr of_parent = state_of(parent);
    if (of_parent == nullptr) return;
    std::uint32_t &n_ahead = of_parent->part<LevelsOfComm>().n_ahead;
    if (n_ahead == 0) return;
    const std::uint32_t n_given = n_ahead / kShareOfNew;
    n_ahead -= n_given + 1;
    const CommStatePtr of_made = state_of(made);
    if (of_made == nullptr) return;
    of_made->part<LevelsOfComm>().n_ahead = n_given;
    make_ahead(made);
  } catch (const std::exception &error) {
    log::warn("ops", error.what());
  }
}

}  // namespace sluice::ops::coll
