// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_group.hpp"

#include <array>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "ops/coll/call/length_terms.hpp"
#include "ops/coll/node/node_queue.hpp"
#include "ops/coll/node/reduction_work.hpp"
#include "ops/coll/node/request_group.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/comm_state.hpp"
#include "progress/host_turns.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

void warn_without_board(const Status &status) {
  log::warn_once("node_group", "ops", status.message() + "; collective operations of device memory are staged");
}

// Whether all of them have the segment is agreed, so that all have a group or none. The name is gone when this returns.
Status set_up(MPI_Comm comm, const Member &member, wire::SharedSegment *segment, bool *is_shared) {
  wire::SegmentName name{};
  make_board(member, segment, &name);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = wire::host().MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm, &request);
  Status agreed = await_in_turns(code, &request, "tell the ranks of a node the name of their board");
  *is_shared = false;
  if (agreed.is_ok()) agreed = agree_on_all(comm, open_board(member, name, segment), is_shared);
  forget_board_name(member, name);
  return agreed;
}

// None where there can be none, on all ranks.
Status make_staging_comm(MPI_Comm comm, NodeGroup *group) {
  const auto made = std::make_shared<StagingComm>();
  bool is_made = false;
  Status status = made->make(comm, &is_made);
  if (is_made) group->take_staging_comm(made);
  return status;
}

}  // namespace

void make_board(const Member &member, wire::SharedSegment *segment, wire::SegmentName *name) {
  if (member.rank != 0) return;
  if (Status status = wire::SharedSegment::create(transfer::Board::size_bytes(member.size), segment, name);
      !status.is_ok()) {
    *name = {};
    return warn_without_board(status);
  }
  transfer::Board::prepare(segment->data(), member.size);
}

bool open_board(const Member &member, const wire::SegmentName &name, wire::SharedSegment *segment) {
  if (name.front() == '\0') return false;
  if (member.rank == 0) return true;
  const Status status = wire::SharedSegment::open(name, transfer::Board::size_bytes(member.size), segment);
  if (!status.is_ok()) warn_without_board(status);
  return status.is_ok();
}

void forget_board_name(const Member &member, const wire::SegmentName &name) noexcept {
  if (member.rank == 0 && name.front() != '\0') wire::SharedSegment::remove_name(name);
}

NodeGroup::NodeGroup(wire::SharedSegment segment, const Member &member, std::vector<int> world_ranks)
    : segment_(std::move(segment)),
      board_(segment_.data(), member.size, member.rank),
      queue_(std::make_unique<NodeQueue>(&board_)),
      last_reduction_(std::make_unique<ReductionMemo>()),
      world_ranks_(std::move(world_ranks)) {}

NodeGroup::~NodeGroup() = default;

Status NodeGroup::of(MPI_Comm comm, const Member &member, NodeGroupPtr *group) {
  group->reset();
  if (member.is_inter || member.size < 2 || member.size > transfer::Board::kMostRanks) return {};
  const CommState *const state = state_for_call(comm);
  if (state == nullptr || !state->is_on_one_node) return {};
  NodeOfComm &node = state->part<NodeOfComm>();
  if (RequestGroup *requests = node.requests.get(); requests != nullptr) {
    // All ranks have made the calls that wait, and are in this one: what those come to holds for it, too.
    progress::turn_beside_host_until([&] { return requests->is_settled() && node.order->are_all_placed(); });
    if (node.group == nullptr) node.group = requests->group();
    if (node.group != nullptr) node.has_sought_group = true;
  }
  if (!node.has_sought_group) {
    wire::SharedSegment segment;
    bool is_shared = false;
    if (Status status = set_up(comm, member, &segment, &is_shared); !status.is_ok()) return status;
    node.has_sought_group = true;
    if (is_shared) node.group = std::make_shared<NodeGroup>(std::move(segment), member, state->world_ranks);
    if (is_shared && !RequestGroup::can_begin(node)) {
      if (Status status = make_staging_comm(comm, node.group.get()); !status.is_ok()) return status;
    }
    if (node.requests != nullptr) node.requests->take_group(node.group);
  }
  *group = node.group;
  return {};
}

Status NodeGroup::vote(transfer::Vote own, std::uint32_t term, transfer::Voted *outcome) {
  cast(own, term);
  return hear_cast(outcome);
}

void NodeGroup::cast(transfer::Vote own, std::uint32_t term) {
  const std::uint64_t number = ++n_votes_;
  if (!board_.may_vote(number)) progress::turn_beside_host_until([&] { return board_.may_vote(number); });
  board_.vote(number, own, term);
}

Status NodeGroup::hear_cast(transfer::Voted *outcome) {
  const std::uint64_t number = n_votes_;
  progress::turn_beside_host_until([&] {
    const std::optional<transfer::Voted> counted = board_.outcome_of_vote(number);
    if (counted) *outcome = *counted;
    return counted.has_value();
  });
  if (outcome->vote != transfer::Vote::kNoVote) return {};
  return transfer::nonsense_of(outcome->rank, "it is no vote on a call");
}

Status NodeGroup::learn_edges(const Call &call, const Member &member) {
  // Of an allgather all blocks of a sender are one.
  if (call.pattern != Pattern::kNeighborAlltoall) return {};
  const std::array functions = {edge_function_of(call)};
  EdgeInquiry inquiry(*call.neighbors, member, functions, call.form == Form::kBlocking, &edges_);
  Status status;
  while (status.is_ok() && !inquiry.is_done()) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = inquiry.start(call.comm, &request);
    status = await_in_turns(code, &request, "exchange a few numbers between neighbours");
    if (status.is_ok()) status = inquiry.take();
  }
  return status;
}

Status NodeGroup::for_persistent(MPI_Comm comm, const Member &member, NodeGroupPtr *group) {
  if (Status status = of(comm, member, group); !status.is_ok()) return status;
  if (*group == nullptr || (*group)->staging_comm() != MPI_COMM_NULL) return {};
  Status status = make_staging_comm(comm, group->get());
  if ((*group)->staging_comm() == MPI_COMM_NULL) group->reset();
  return status;
}

}  // namespace sluice::ops::coll
