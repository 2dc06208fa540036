// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/meeting.hpp"

#include "base/log.hpp"
#include "ops/coll/call/length_terms.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/coll/node/node_of_comm.hpp"
#include "ops/comm/comm_state.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

static_assert(kLengthPrime <= transfer::Board::kTerms, "a vote has room for each term");

// What the votes of a meeting mean.
using transfer::Vote;
constexpr Vote kMayBlock = Vote::kShort;
constexpr Vote kMayNot = Vote::kLong;
constexpr Vote kGoes = Vote::kCannot;  // is in a call of the ranks together

// Kept once it is known, unless non-blocking calls may bring another.
NodeGroupPtr group_of(MPI_Comm comm, const NodeOfComm &node) {
  if (node.has_sought_group && node.requests == nullptr) return node.group;
  NodeGroupPtr group;
  Member member;
  if (!Member::of(comm, &member)) return group;
  if (const Status status = NodeGroup::of(comm, member, &group); !status.is_ok()) {
    log::warn_once("meeting", "ops", status.message());
  }
  return group;
}

}  // namespace

Meeting meet(MPI_Comm comm, bool may_block, std::uint32_t length_term) {
  const std::uint64_t first_meeting = wire::Channel::process().terms().first_meeting;
  if (first_meeting == wire::CollectiveTerms::kNever) return {};
  const CommStatePtr state = state_of(comm);
  if (state == nullptr || !state->is_on_one_node) return {};
  NodeOfComm &node = state->part<NodeOfComm>();
  // Where device memory has brought them together they meet at once.
  if (node.group == nullptr && node.n_calls_without_meeting < first_meeting) {
    ++node.n_calls_without_meeting;
    return {};
  }
  const NodeGroupPtr group = group_of(comm, node);
  if (group == nullptr) return {};
  if (node.n_calls_without_meeting <= first_meeting) {
    node.n_calls_without_meeting = first_meeting + 1;
    log::debug("ops", "the ranks of a communicator meet before blocking calls");
  }
  group->cast(may_block ? kMayBlock : kMayNot, length_term);
  return hear_of_meeting(group.get());
}

void pass_meeting(NodeGroup *group, std::uint32_t length_term) noexcept {
  group->cast(kGoes, length_term);
}

Meeting hear_of_meeting(NodeGroup *group) {
  transfer::Voted outcome;
  const Status status = group->hear_cast(&outcome);
  if (!status.is_ok()) log::warn_once("meeting_vote", "ops", status.message());
  Meeting meeting;
  meeting.has_met = true;
  meeting.may_block = status.is_ok() && outcome.vote == kMayBlock;
  meeting.lengths_fit = outcome.sum_of_terms % kLengthPrime == 0;
  meeting.some_go = outcome.has(kGoes);
  meeting.is_in_memory = true;
  return meeting;
}

}  // namespace sluice::ops::coll
