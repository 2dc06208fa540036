// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/carry_out_on_node.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "ops/coll/node/call_meeting.hpp"
#include "ops/coll/node/in_turns.hpp"
#include "ops/coll/node/node_of_comm.hpp"
#include "ops/coll/node/node_offer.hpp"
#include "ops/coll/node/node_queue.hpp"
#include "ops/coll/node/node_request.hpp"
#include "ops/coll/node/request_group.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/attempts.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/turns.hpp"
#include "plan/joint.hpp"
#include "progress/host_turns.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using plan::Chance;

// Whether a blocking call has found that all can, which is the same on all ranks at the same call.
bool have_met(const Call &call, const CommState &state) {
  const NodeGroupPtr &group = state.part<NodeOfComm>().group;
  return group != nullptr && group->have_met(call.pattern);
}

// Whether the ranks look at the call together, by what is alike on all of them, and by what they agreed on before.
Chance chance_together(const Call &call, const Member &member) {
  const Chance chance = plan::chance_of(call.ways, plan::Way::kTogether);
  if (chance != Chance::kIfMet) return chance;
  return have_met(call, *member.state) ? Chance::kAsked : Chance::kNone;
}

bool may_skip_attempts() noexcept {
  return wire::Channel::process().terms().may_leave_out;
}

// A call's time in the queue.
class QueuedCall {
 public:
  QueuedCall(NodeQueue *queue, NodeCall *call) : queue_(*queue), call_(*call) { queue_.join(call); }
  ~QueuedCall() { queue_.leave(call_); }
  QueuedCall(const QueuedCall &) = delete;
  QueuedCall &operator=(const QueuedCall &) = delete;
  QueuedCall(QueuedCall &&) = delete;
  QueuedCall &operator=(QueuedCall &&) = delete;

 private:
  NodeQueue &queue_;
  NodeCall &call_;
};

// Short for all, or out of reach for one: each says so in a word before anything is described. All hear the same.
bool is_voted_down(Call *call, const Member &member, transfer::Vote outcome, NodeGroup *group) {
  call->is_short_for_all = outcome == transfer::Vote::kShort;
  if (outcome == transfer::Vote::kCannot) group->note_alone(call->pattern, 0);
  if (outcome != transfer::Vote::kShort && outcome != transfer::Vote::kCannot) return false;
  const auto reason = call->is_short_for_all ? plan::JointReason::kShort : plan::JointReason::kRankCannot;
  log_plan(*call, [&] { return plan::explain(static_cast<std::size_t>(member.size), {plan::Joint::kStaged, reason}); });
  return true;
}

// *begun: of a rank that has begun the meeting of the call: what it then hears.
bool block(Call *call, const Member &member, const Sides &sides, const Status &classified, std::size_t length,
           NodeGroup *group, Meeting *begun, int *result) {
  NodeCall together(*call, member, sides, group);
  together.describe(classified);
  if (begun != nullptr) {
    *begun = hear_of_meeting_for_call(*call, group);
    if (begun->some_are_gone) return false;  // their lengths are on the other side of a threshold
  }
  NodeQueue &queue = group->queue();
  NodeCall::Outcome outcome = NodeCall::Outcome::kNone;
  {
    const QueuedCall stay(&queue, &together);
    progress::turn_beside_host_until([&] {
      outcome = queue.advance(together);
      return outcome != NodeCall::Outcome::kNone;
    });
  }
  if (outcome == NodeCall::Outcome::kStaged) {
    call->is_short_for_all = together.is_short();
    if (!together.is_short()) group->note_alone(call->pattern, length);
    return false;
  }
  if (outcome == NodeCall::Outcome::kDone) {
    group->note_together(call->pattern);
    group->note_met(call->pattern);
  }
  *result = outcome == NodeCall::Outcome::kDone ? reap(MPI_SUCCESS) : raise(call->comm, together.failure());
  return true;
}

// All ranks are here, so they agree once for all starts.
Status may_start_together(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                          NodeGroupPtr *group) {
  if (Status status = NodeGroup::for_persistent(call.comm, member, group); !status.is_ok() || *group == nullptr) {
    return status;
  }
  if (is_of_neighbors(call.pattern)) {
    if (Status status = (*group)->learn_edges(call, member); !status.is_ok()) return status;
  }
  NodeOffer offer;
  Status described = offer.fill(call, member, sides, classified, (*group)->edges().pairing_of(call));
  bool can_all = false;
  Status status = agree_on_all(
      call.comm, described.is_ok() && offer.published.state == transfer::Published::State::kTakesPart, &can_all);
  if (!can_all) group->reset();
  return described.is_ok() || !sides.refusal().is_ok() ? status : described;  // a refused side can stage
}

// Where a non-blocking call meets those of the other ranks; nowhere, and the same on all ranks, when it is for the host
// MPI alone.
Status find_meeting(const Call &call, const Member &member, bool has_device, NodeRequest::Meeting *meeting) {
  if (member.size < 2 || member.size > transfer::Board::kMostRanks) return {};
  const CommState *const state = state_for_call(call.comm);
  if (state == nullptr || !state->is_on_one_node) return {};
  NodeOfComm &node = state->part<NodeOfComm>();
  if (node.has_sought_group && node.group == nullptr) return {};
  if (!RequestGroup::can_begin(node)) {
    // What blocking calls have made, and as they came out. They have not asked for all edges of a topology.
    const NodeGroupPtr &group = node.group;
    if (group == nullptr || group->staging_comm() == MPI_COMM_NULL || is_of_neighbors(call.pattern)) return {};
    if (!may_skip_attempts() || group->is_good(call.pattern)) meeting->group = group;
    return {};
  }
  meeting->has_device = has_device || !may_skip_attempts();
  if (node.requests == nullptr) {
    node.requests = std::make_shared<RequestGroup>(call.comm, member, *state);
  }
  meeting->requests = node.requests;
  meeting->group = meeting->requests->ready_group(call.pattern, may_skip_attempts());
  return {};
}

bool start(const Call &call, const Member &member, Sides *sides, const Status &classified, int *result) {
  NodeRequest::Meeting meeting;
  const Status status = call.form == Form::kPersistent
                            ? may_start_together(call, member, *sides, classified, &meeting.group)
                            : find_meeting(call, member, sides->has_device(), &meeting);
  if (!status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  if (meeting.group == nullptr && meeting.requests == nullptr) return false;
  meeting.order = state_for_call(call.comm)->part<NodeOfComm>().order;
  *result = NodeRequest::make(call, member, std::move(*sides), classified, std::move(meeting));
  return true;
}

// The group of a communicator that has made one, on all ranks. Hot.
Status find_made(MPI_Comm comm, const Member &member, NodeGroupPtr *group) {
  if (member.state == nullptr) return {};
  const NodeOfComm &node = member.state->part<NodeOfComm>();
  if (node.group == nullptr) return {};
  if (node.requests != nullptr) return NodeGroup::of(comm, member, group);
  *group = node.group;
  return {};
}

}  // namespace

bool carry_out_on_node(Call *call, const Member &member, Sides *sides, const Status &classified, Meeting *meeting,
                       int *result) {
  const Chance chance = chance_together(*call, member);
  const bool is_alone = chance == Chance::kNone;
  if (call->form != Form::kBlocking) {
    return !is_alone && start(*call, member, sides, classified, result);
  }
  const bool is_known = call->facts.known == plan::LengthKnown::kAll;
  // The class of a call that the ranks look at together (ops/comm/attempts.hpp), where all know it.
  const std::size_t length = chance == Chance::kAsked ? length_class(call->facts.size_bytes) : 0;
  NodeGroupPtr group;
  Status status = is_alone ? Status() : find_made(call->comm, member, &group);
  const bool had_group = group != nullptr;
  const bool is_left_out = had_group && !is_alone && may_skip_attempts() && !group->is_due(call->pattern, length);
  if (had_group && chance == Chance::kAsked && !is_left_out && begin_meeting_for_call(*call, group.get())) {
    // Who has it shorter hears that in its meeting, and comes then.
    return block(call, member, *sides, classified, length, group.get(), meeting, result);
  }
  *meeting =
      meet_for_call(*call, member,
                    {.stages = sides->is_staged(),
                     .is_for_host = (is_alone || is_left_out) && is_known && are_together_or_with_host(call->ways)});
  if (meeting->some_are_gone) return false;
  if (meeting->some_go && meeting->group != nullptr) {
    return block(call, member, *sides, classified, length, meeting->group, nullptr, result);
  }
  if (is_alone || is_left_out || (meeting->has_met && !meeting->lengths_fit)) return false;
  if (status.is_ok()) status = NodeGroup::of(call->comm, member, &group);
  if (!status.is_ok()) {
    *result = raise(call->comm, status);
    return true;
  }
  if (group == nullptr) return false;
  if (!had_group && chance == Chance::kIfLong && may_skip_attempts() && !group->is_due(call->pattern, length))
    return false;
  if (chance == Chance::kIfLong && group->is_voted_on()) {
    transfer::Voted outcome;
    status = group->vote(vote_on(*call, member, *sides, classified), 0, &outcome);
    if (status.is_ok() && is_voted_down(call, member, outcome.vote, group.get())) return false;
  }
  if (status.is_ok() && is_of_neighbors(call->pattern)) status = group->learn_edges(*call, member);
  if (!status.is_ok()) {
    *result = raise(call->comm, status);
    return true;
  }
  const bool is_carried_out = block(call, member, *sides, classified, length, group.get(), nullptr, result);
  if (chance == Chance::kIfLong) group->set_voted_on(!is_carried_out);
  return is_carried_out;
}

}  // namespace sluice::ops::coll
