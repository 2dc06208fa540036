// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/meeting.hpp"

#include "base/log.hpp"
#include "ops/coll/member.hpp"
#include "ops/coll/node_group.hpp"
#include "ops/p2p/comm_state.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

// Kept once it is known, unless non-blocking calls may bring another.
NodeGroupPtr group_of(MPI_Comm comm, const CommState &state) {
  if (state.has_sought_node_group && state.request_group == nullptr) return state.node_group;
  NodeGroupPtr group;
  Member member;
  if (!Member::of(comm, &member)) return group;
  if (const Status status = NodeGroup::of(comm, member, &group); !status.is_ok()) {
    log::warn_once("meeting", "ops", status.message());
  }
  return group;
}

}  // namespace

bool meet(MPI_Comm comm, bool may_block) {
  const std::uint64_t first_meeting = wire::Channel::process().terms().first_meeting;
  if (first_meeting == wire::CollectiveTerms::kNever) return false;
  const CommStatePtr state = state_of(comm);
  if (state == nullptr || !state->is_on_one_node) return false;
  if (state->n_calls_without_meeting < first_meeting) {
    ++state->n_calls_without_meeting;
    return false;
  }
  const NodeGroupPtr group = group_of(comm, *state);
  if (group == nullptr) return false;
  if (state->n_calls_without_meeting == first_meeting) {
    ++state->n_calls_without_meeting;
    log::debug("ops", "the ranks of a communicator meet before blocking calls");
  }
  using transfer::Vote;
  return group->vote(may_block ? Vote::kShort : Vote::kLong) == Vote::kShort;
}

}  // namespace sluice::ops::coll
