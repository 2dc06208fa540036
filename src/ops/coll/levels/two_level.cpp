// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/levels/two_level.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/coll/call/length_terms.hpp"
#include "ops/coll/levels/level_group.hpp"
#include "ops/coll/levels/level_request.hpp"
#include "ops/coll/levels/level_slices.hpp"
#include "ops/coll/levels/node_levels.hpp"
#include "ops/coll/levels/two_level_reduction.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/turns.hpp"
#include "plan/levels.hpp"
#include "progress/host_turns.hpp"
#include "wire/channel.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops::coll {
namespace {

using plan::LevelAbility;
using plan::LevelQuery;
using plan::Levels;

// Slices begin at such addresses, so that copies are aligned as the buffer is.
constexpr std::uint64_t kSliceAlignment = 4096;

bool is_broadcast(const Call &call) noexcept {
  return call.operation == Operation::kBcast;
}

// Whether it is MPI_Allgatherv, whose blocks have a length and a place each.
bool has_lengths(const Call &call) noexcept {
  return call.operation == Operation::kAllgatherv;
}

// Whether the steps, which take ints, can be told each length and each place.
bool are_ints(const Argument &blocks, int n_ranks) noexcept {
  if (blocks.counts.is_null() || blocks.displacements.is_null()) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n_ranks); ++i) {
    for (const std::int64_t number : {blocks.counts.at(i), blocks.displacements.at(i)}) {
      if (number != static_cast<int>(number)) return false;
    }
  }
  return true;
}

// *scratch: device memory that the call takes at this rank.
LevelAbility ability_of(const Call &call, const Member &member, const NodeMap &map, const Sides &sides,
                        const Status &classified, device::DeviceMemory *scratch) {
  if (sides.overlap) return LevelAbility::kNone;
  if (is_reduction(call.pattern)) return reduction_level_ability(call, member, map, sides, classified, scratch);
  const CollectiveSide &side = sides.recv;
  if (!classified.is_ok() || side.content() != CollectiveSide::Content::kDevice) return LevelAbility::kNone;
  if (has_lengths(call) && !are_ints(call.recv, member.size)) return LevelAbility::kNone;
  if (!is_broadcast(call)) return LevelAbility::kWhole;
  return side.block(0).layout->is_contiguous ? LevelAbility::kInSlices : LevelAbility::kWhole;
}

class TwoLevelCall {
 public:
  TwoLevelCall(const Call &call, const Member &member, const Sides &sides, NodeLevels *levels) noexcept
      : call_(call),
        member_(member),
        sides_(sides),
        levels_(*levels),
        map_(levels->map()),
        node_(map_.node[static_cast<std::size_t>(member.rank)]),
        local_(map_.local[static_cast<std::size_t>(member.rank)]) {}

  [[nodiscard]] int run(Levels levels, const device::DeviceMemory &scratch) {
    if (is_reduction(call_.pattern)) return reduce_in_levels(call_, member_, levels_, levels, scratch);
    if (has_lengths(call_)) return allgatherv_in_lanes();
    if (!is_broadcast(call_)) return allgather_in_lanes();
    return levels == Levels::kLanes ? bcast_in_lanes() : bcast_by_leaders();
  }

 private:
  [[nodiscard]] int bcast_whole(int root, MPI_Comm comm) const;
  [[nodiscard]] int bcast_by_leaders() const;
  [[nodiscard]] int bcast_in_lanes() const;
  [[nodiscard]] int allgather_in_lanes() const;
  [[nodiscard]] int allgatherv_in_lanes() const;
  [[nodiscard]] int share_on_node(MPI_Datatype blocks) const;

  const Call &call_;
  const Member &member_;
  const Sides &sides_;
  NodeLevels &levels_;
  const NodeMap &map_;
  const int node_;
  const int local_;
};

// The first error of the steps of a call. A step that fails here does not end the call: the others wait in the next
// one.
class FirstError {
 public:
  void add(int code) noexcept {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_ = MPI_SUCCESS;
};

int TwoLevelCall::bcast_whole(int root, MPI_Comm comm) const {
  Call part = call_;
  part.comm = comm;
  part.root = root;
  return bcast(&part);
}

int TwoLevelCall::bcast_by_leaders() const {
  const auto root = static_cast<std::size_t>(call_.root);
  const int root_node = map_.node[root];
  FirstError first_error;
  if (node_ == root_node) first_error.add(bcast_whole(map_.local[root], levels_.node()));
  if (local_ == 0) first_error.add(bcast_whole(map_.rank_in_lane(0, root_node), levels_.lane()));
  if (node_ != root_node) first_error.add(bcast_whole(0, levels_.node()));
  return first_error.code();
}

// On the root's node each rank gets a slice, brings it to its peers on the other nodes, and all ranks of a node put
// their slices together.
int TwoLevelCall::bcast_in_lanes() const {
  const auto root = static_cast<std::size_t>(call_.root);
  const int root_node = map_.node[root];
  const transfer::Region region = sides_.recv.block(0);
  std::byte *const base = region.origin;
  const std::uint64_t size_bytes = region.size_bytes();
  const auto n_lanes = static_cast<std::uint64_t>(map_.most_local);
  const std::uint64_t share = (size_bytes + n_lanes - 1) / n_lanes;
  const std::uint64_t slice = (share + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment;
  std::vector<int> counts;
  std::vector<int> places;
  counts.reserve(n_lanes);
  places.reserve(n_lanes);
  for (std::uint64_t lane = 0; lane < n_lanes; ++lane) {
    const std::uint64_t begin = std::min(lane * slice, size_bytes);
    places.push_back(static_cast<int>(begin));
    counts.push_back(static_cast<int>(std::min(slice, size_bytes - begin)));
  }
  const auto own = static_cast<std::size_t>(local_);
  std::byte *const own_slice = transfer::at(base, places[own]);
  FirstError first_error;
  if (node_ == root_node) {
    void *const into = member_.rank == call_.root ? MPI_IN_PLACE : own_slice;
    first_error.add(ops::scatterv(base, counts.data(), places.data(), MPI_BYTE, into, counts[own], MPI_BYTE,
                                  map_.local[root], levels_.node()));
  }
  first_error.add(ops::bcast(own_slice, counts[own], MPI_BYTE, map_.rank_in_lane(local_, root_node), levels_.lane()));
  first_error.add(
      ops::allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, base, counts.data(), places.data(), MPI_BYTE, levels_.node()));
  return first_error.code();
}

// Each rank gets the blocks of its lane from the other nodes, to where they belong; then the ranks of a node, each of
// which has a block of every node by now, give them to each other.
int TwoLevelCall::allgather_in_lanes() const {
  const Argument &recv = call_.recv;
  const auto count = recv.count_as<int>();
  std::vector<int> places;
  places.reserve(static_cast<std::size_t>(map_.n_nodes));
  for (int node = 0; node < map_.n_nodes; ++node) places.push_back((node * map_.most_local + local_) * count);
  const std::vector<int> counts(places.size(), count);
  FirstError first_error;
  first_error.add(ops::allgatherv(call_.send.buffer, call_.send.count_as<int>(), call_.send.type, recv.buffer,
                                  counts.data(), places.data(), recv.type, levels_.lane()));
  // One block of every node, as far from each other as a node's blocks are long; the next rank's begin one block later.
  const wire::Host &host = wire::host();
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  wire::OwnedDatatype column;
  wire::OwnedDatatype blocks;
  int code = host.MPI_Type_get_extent(recv.type, &lower, &extent);
  if (code == MPI_SUCCESS) {
    code = host.MPI_Type_vector(map_.n_nodes, count, count * map_.most_local, recv.type, column.slot());
  }
  if (code == MPI_SUCCESS) code = host.MPI_Type_create_resized(column.get(), lower, extent * count, blocks.slot());
  if (code == MPI_SUCCESS) code = host.MPI_Type_commit(blocks.slot());
  first_error.add(code);
  // Without the type this rank cannot take part, and the host MPI has no memory left.
  if (code == MPI_SUCCESS) first_error.add(share_on_node(blocks.get()));
  return first_error.code();
}

int TwoLevelCall::share_on_node(MPI_Datatype blocks) const {
  return ops::allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, call_.recv.buffer, 1, blocks, levels_.node());
}

// The same for blocks of unlike lengths, which no type of the other form describes: on a node one step for the blocks
// of each node.
int TwoLevelCall::allgatherv_in_lanes() const {
  const Argument &recv = call_.recv;
  struct Blocks {
    std::vector<int> counts;
    std::vector<int> places;
  };
  const auto blocks_of_ranks = [&recv](int first, int step, int n) {
    Blocks blocks;
    for (int rank = first; n-- > 0; rank += step) {
      blocks.counts.push_back(static_cast<int>(recv.counts.at(static_cast<std::size_t>(rank))));
      blocks.places.push_back(static_cast<int>(recv.displacements.at(static_cast<std::size_t>(rank))));
    }
    return blocks;
  };
  FirstError first_error;
  const Blocks in_lane = blocks_of_ranks(local_, map_.most_local, map_.n_nodes);
  first_error.add(ops::allgatherv(call_.send.buffer, call_.send.count_as<int>(), call_.send.type, recv.buffer,
                                  in_lane.counts.data(), in_lane.places.data(), recv.type, levels_.lane()));
  for (int node = 0; node < map_.n_nodes; ++node) {
    const Blocks on_node = blocks_of_ranks(node * map_.most_local, 1, map_.most_local);
    if (std::all_of(on_node.counts.begin(), on_node.counts.end(), [](int count) { return count == 0; })) continue;
    first_error.add(ops::allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv.buffer, on_node.counts.data(),
                                    on_node.places.data(), recv.type, levels_.node()));
  }
  return first_error.code();
}

LevelQuery query_of(const Call &call, const NodeMap &map) {
  LevelQuery query;
  query.is_broadcast = is_broadcast(call);
  query.is_reduction = is_reduction(call.pattern);
  query.is_rooted = call.pattern == Pattern::kReduce;
  query.is_scattered = call.pattern == Pattern::kReduceScatter;
  query.keeps_order = call.facts.keeps_rank_order;
  query.size_bytes = call.facts.size_bytes;
  query.threshold_bytes = wire::Channel::process().terms().levels_threshold_bytes;
  query.n_nodes = map.n_nodes;
  query.least_local = map.least_local;
  query.most_local = map.most_local;
  query.is_uniform = map.is_uniform();
  query.is_node_major = map.is_node_major;
  return query;
}

void say(const Call &call, const Member &member, const LevelQuery &query, const plan::LevelPlan &plan) {
  log_plan(call, [&] { return explain(member.size, query, plan); });
}

// Of a non-blocking call those that are there; a persistent one may make them.
Status find_levels(const Call &call, const Member &member, std::shared_ptr<NodeLevels> *levels) {
  if (call.form == Form::kPersistent) return NodeLevels::for_requests(call.comm, member, levels);
  *levels = NodeLevels::find(call.comm, member);
  return {};
}

// All ranks are here, and may wait for each other: for what the least able of them can do, and until they have what
// the starts need.
Status agree_at_once(const Call &call, LevelQuery *query, LevelGroup *group) {
  progress::turn_beside_host_until([group] { return group->is_ready(); });
  int least = 0;
  bool fits = false;
  const auto length = static_cast<int>(query->size_bytes % kLengthPrime);
  Status status = find_least(call.comm, static_cast<int>(query->ability), length, &least, &fits);
  query->ability = fits ? static_cast<LevelAbility>(least) : LevelAbility::kNone;
  return status;
}

}  // namespace

bool carry_out_in_levels(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                         int *result) {
  if (Status status = NodeLevels::seek(call.comm); !status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  if (plan::chance_of(call.ways, plan::Way::kLevels) == plan::Chance::kNone) return false;
  // classify
  std::shared_ptr<NodeLevels> levels;
  if (Status status = NodeLevels::of(call.comm, member, &levels); !status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  if (levels == nullptr) return false;
  Attempts &attempts = levels->attempts(is_reduction(call.pattern));
  LevelQuery query = query_of(call, levels->map());
  if (query.keeps_order) say(call, member, query, choose_levels(query));
  if (!may_have_levels(query) || (wire::Channel::process().terms().may_leave_out && !attempts.is_due())) return false;
  // plan: all ranks hear what the least able of them can do
  int least = 0;
  bool fits = false;
  device::DeviceMemory scratch;
  const int own = static_cast<int>(ability_of(call, member, levels->map(), sides, classified, &scratch));
  if (Status status = find_least(call.comm, own, call.facts.common_length, &least, &fits); !status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  query.ability = fits ? static_cast<LevelAbility>(least) : LevelAbility::kNone;
  const plan::LevelPlan plan = choose_levels(query);
  say(call, member, query, plan);
  if (plan.levels == Levels::kFlat) {
    attempts.note_vain();
    return false;
  }
  attempts.note_good();
  // execute, complete
  const int code = TwoLevelCall(call, member, sides, levels.get()).run(plan.levels, scratch);
  *result = code;
  if (code != MPI_SUCCESS && wire::host().MPI_Comm_call_errhandler(call.comm, code) != MPI_SUCCESS) {
    log::warn("ops", "the communicator's error handler could not be called");
  }
  return true;
}

bool start_in_levels(const Call &call, const Member &member, Sides *sides, const Status &classified, int *result) {
  if (plan::chance_of(call.ways, plan::Way::kLevels) == plan::Chance::kNone) return false;
  // classify
  if (call.recv.count > kMostLevelElements) return false;
  std::shared_ptr<NodeLevels> levels;
  const Status found = find_levels(call, member, &levels);
  if (found.is_ok() && levels == nullptr) return false;
  LevelQuery query;
  LevelGroupPtr group;
  Status status = found;
  if (status.is_ok()) {
    query = query_of(call, levels->map());
    if (query.keeps_order) say(call, member, query, choose_levels(query));
    if (!may_have_levels(query)) return false;
    device::DeviceMemory no_scratch;
    query.ability = ability_of(call, member, levels->map(), *sides, classified, &no_scratch);
    status = LevelGroup::of(call.comm, levels, &group);
  }
  // plan: of a persistent call, once for all starts
  if (status.is_ok() && group != nullptr && call.form == Form::kPersistent)
    status = agree_at_once(call, &query, group.get());
  if (!status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  if (group == nullptr) return false;
  if (call.form == Form::kPersistent) {
    const plan::LevelPlan plan = choose_levels(query);
    say(call, member, query, plan);
    if (plan.levels == Levels::kFlat) return false;
  }
  *result = LevelRequest::make(call, member, std::move(*sides), classified, query, std::move(group));
  return true;
}

}  // namespace sluice::ops::coll
