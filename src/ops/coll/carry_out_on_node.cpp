// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/carry_out_on_node.hpp"

#include <optional>
#include <utility>

#include "ops/coll/node_queue.hpp"
#include "ops/coll/node_request.hpp"
#include "ops/request/collective.hpp"
#include "progress/host_turns.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

// Whether the ranks look at the call together, by arguments that mean the same on all of them, and by what they agreed
// on before.
enum class Look : std::uint8_t { kAlone, kTogether, kRefused };

Look look_at(const Call &call, const Member &member) {
  const std::uint64_t threshold_bytes = wire::Channel::process().terms().threshold_bytes;
  if (call.pattern == Pattern::kNone) return Look::kAlone;
  const std::optional<std::uint64_t> bytes = common_bytes(call, member);
  if (!bytes) return Look::kRefused;
  return *bytes >= threshold_bytes ? Look::kTogether : Look::kAlone;
}

bool leaves_out() noexcept {
  return wire::Channel::process().terms().may_leave_out;
}

bool has_device(const Sides &sides) noexcept {
  using Content = CollectiveSide::Content;
  return sides.send.content() == Content::kDevice || sides.recv.content() == Content::kDevice;
}

// A call's time in the queue.
class Stay {
 public:
  Stay(NodeQueue *queue, NodeCall *call) : queue_(*queue), call_(*call) { queue_.join(call); }
  ~Stay() { queue_.leave(call_); }
  Stay(const Stay &) = delete;
  Stay &operator=(const Stay &) = delete;
  Stay(Stay &&) = delete;
  Stay &operator=(Stay &&) = delete;

 private:
  NodeQueue &queue_;
  NodeCall &call_;
};

bool block(const Call &call, const Member &member, const Sides &sides, const Status &classified, NodeGroup *group,
           int *result) {
  NodeCall together(call, member, sides, group);
  together.describe(classified);
  NodeQueue &queue = group->queue();
  NodeCall::Outcome outcome = NodeCall::Outcome::kNone;
  {
    const Stay stay(&queue, &together);
    progress::turn_beside_host_until([&] {
      outcome = queue.advance(together);
      return outcome != NodeCall::Outcome::kNone;
    });
  }
  if (outcome == NodeCall::Outcome::kStaged) {
    group->note_alone();
    return false;
  }
  if (outcome == NodeCall::Outcome::kDone) group->note_together();
  *result = outcome == NodeCall::Outcome::kDone ? reap(MPI_SUCCESS) : raise(call.comm, together.failure());
  return true;
}

// All ranks are here, so they agree once for all starts.
Status may_start_together(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                          NodeGroupPtr *group) {
  group->reset();
  static_cast<void>(NodeGroup::find(call.comm, has_device(sides)));  // asks for what such calls need
  if (Status status = NodeGroup::of(call.comm, member, group); !status.is_ok() || *group == nullptr) return status;
  NodeOffer offer;
  Status described = offer.fill(call, member, sides, classified);
  bool can_all = false;
  Status status = agree_on_all(
      call.comm, described.is_ok() && offer.published.state == transfer::Published::State::kTakesPart, &can_all);
  if (!can_all) group->reset();
  return described.is_ok() ? status : described;
}

bool start(const Call &call, const Member &member, Sides *sides, const Status &classified, int *result) {
  NodeGroupPtr group;
  if (call.form == Form::kPersistent) {
    if (Status status = may_start_together(call, member, *sides, classified, &group); !status.is_ok()) {
      *result = raise(call.comm, status);
      return true;
    }
  } else {
    group = NodeGroup::find(call.comm, has_device(*sides));
    if (group != nullptr && leaves_out() && !group->is_good()) group.reset();
  }
  if (group == nullptr) return false;
  *result = NodeRequest::make(call, member, std::move(*sides), classified, std::move(group));
  return true;
}

}  // namespace

bool carry_out_on_node(const Call &call, const Member &member, Sides *sides, const Status &classified, int *result) {
  const wire::Channel &channel = wire::Channel::process();
  if (!channel.is_open() || channel.terms().threshold_bytes == wire::CollectiveTerms::kNever) return false;
  const Look look = look_at(call, member);
  if (look == Look::kRefused) return false;
  Status status;
  NodeGroupPtr group;
  if (look == Look::kTogether && call.form != Form::kBlocking) {
    return !member.is_inter && start(call, member, sides, classified, result);
  }
  if (look == Look::kTogether) {
    status = NodeGroup::of(call.comm, member, &group);
  } else if (call.form == Form::kBlocking) {
    status = NodeGroup::seek_for_requests(call.comm, member);
  }
  if (!status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  if (group == nullptr || (leaves_out() && !group->is_due())) return false;
  return block(call, member, *sides, classified, group.get(), result);
}

}  // namespace sluice::ops::coll
