// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/meeting.hpp"

#include "base/log.hpp"
#include "ops/coll/call/length_terms.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/coll/node/node_of_comm.hpp"
#include "ops/comm/comm_state.hpp"
#include "progress/engine.hpp"
#include "progress/thread.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

static_assert(kLengthPrime <= transfer::Board::kTerms, "a vote has room for each term");

// What the votes of a meeting mean.
using transfer::Vote;
constexpr Vote kMayBlock = Vote::kShort;
constexpr Vote kMayNot = Vote::kLong;
constexpr Vote kGoes = Vote::kCannot;  // is in a call of the ranks together
constexpr Vote kGone = Vote::kGone;

// Kept once it is known, unless non-blocking calls may bring another. Lives as long as the communicator.
NodeGroup *group_of(MPI_Comm comm, const NodeOfComm &node) {
  if (node.has_sought_group && node.requests == nullptr) return node.group.get();
  NodeGroupPtr group;
  Member member;
  if (!Member::of(comm, &member)) return nullptr;
  if (const Status status = NodeGroup::of(comm, member, &group); !status.is_ok()) {
    log::warn_once("meeting", "ops", status.message());
  }
  return group.get();
}

// Whether a peer may need this rank before the host MPI's function returns: for what is under way, or for what another
// thread of the program begins meanwhile. A progress thread serves what begins then.
bool may_be_needed() noexcept {
  if (progress::Engine::process().is_busy()) return true;
  return wire::Channel::process().has_threads() && !progress::ProgressThread::process().is_running();
}

Meeting met(NodeGroup *group) noexcept {
  Meeting meeting;
  meeting.has_met = true;
  meeting.is_in_memory = true;
  meeting.group = group;
  meeting.number = group->n_votes();
  return meeting;
}

// What this rank does not wait to hear.
Meeting gone(NodeGroup *group) noexcept {
  Meeting meeting = met(group);
  meeting.may_block = true;
  meeting.some_are_gone = true;
  return meeting;
}

}  // namespace

Meeting meet(MPI_Comm comm, const Arrival &own) {
  const CommState *const state = state_for_call(comm);
  return state == nullptr ? Meeting{} : meet(comm, *state, own);
}

Meeting meet(MPI_Comm comm, const CommState &state, const Arrival &own) {
  const std::uint64_t first_meeting = wire::Channel::process().terms().first_meeting;
  if (first_meeting == CollectiveTerms::kNever || !state.is_on_one_node) return {};
  NodeOfComm &node = state.part<NodeOfComm>();
  // Where device memory has brought them together they meet at once.
  if (node.group == nullptr && node.n_calls_without_meeting < first_meeting) {
    ++node.n_calls_without_meeting;
    return {};
  }
  NodeGroup *const group = group_of(comm, node);
  if (group == nullptr) return {};
  if (node.n_calls_without_meeting <= first_meeting) {
    node.n_calls_without_meeting = first_meeting + 1;
    log::debug("ops", "the ranks of a communicator meet before blocking calls");
  }
  if (!own.goes_on) {
    group->cast(own.may_block ? kMayBlock : kMayNot, own.term);
    return hear_of_meeting(group);
  }
  group->cast(kGone, own.term);
  if (!own.wants_terms && !may_be_needed()) return gone(group);
  Meeting meeting = hear_of_meeting(group);
  meeting.may_block = true;
  return meeting;
}

void begin_meeting(NodeGroup *group, std::uint32_t term) {
  group->cast(kGoes, term);
}

Meeting hear_of_meeting(NodeGroup *group) {
  transfer::Voted outcome;
  const Status status = group->hear_cast(&outcome);
  if (!status.is_ok()) log::warn_once("meeting_vote", "ops", status.message());
  Meeting meeting = met(group);
  meeting.some_are_gone = outcome.has(kGone) || outcome.has(Vote::kGoneWithoutData);
  meeting.may_block = meeting.some_are_gone || (status.is_ok() && outcome.vote == kMayBlock);
  meeting.knows_lengths = outcome.has_all_terms;
  meeting.lengths_fit = outcome.has_all_terms && outcome.sum_of_terms % kLengthPrime == 0;
  meeting.some_go = outcome.has(kGoes);
  return meeting;
}

void say_without_data(const Meeting &meeting) noexcept {
  meeting.group->board().say_without_data(meeting.number);
}

bool may_lack_data(const Meeting &meeting) noexcept {
  return meeting.group != nullptr && meeting.group->board().has_any_without_data(meeting.number);
}

bool is_without_data(const Meeting &meeting, int rank) noexcept {
  return meeting.group->board().is_without_data(meeting.number, rank);
}

}  // namespace sluice::ops::coll
