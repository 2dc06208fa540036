// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_request.hpp"

#include <utility>

#include "ops/coll/node/node_queue.hpp"
#include "ops/coll/requests/general_request.hpp"

namespace sluice::ops::coll {
NodeRequest::NodeRequest(const Call &call, const Member &member, Sides sides, Meeting meeting)
    : EngineRequest(call, member, std::move(sides)), meeting_(std::move(meeting)) {}

int NodeRequest::make(const Call &call, const Member &member, Sides sides, const Status &classified, Meeting meeting) {
  return EngineRequest::make(std::make_shared<NodeRequest>(call, member, std::move(sides), std::move(meeting)),
                             classified);
}

void NodeRequest::begin(const std::shared_ptr<EngineRequest> &self) {
  is_staged_ = false;
  together_.reset();
  meeting_.order->join(this);
  if (meeting_.group == nullptr) {
    number_ = meeting_.requests->join(call_.pattern, meeting_.has_device, this);
    // What is staged begins here where it may.
    if (go_on_meeting()) return;
  } else {
    static_cast<void>(join_group());
  }
  progress::Engine::process().watch(self);
}

bool NodeRequest::join_group() {
  if (!meeting_.order->may_be_placed(this)) return false;
  together_ = std::make_unique<NodeCall>(call_, member_, sides_, meeting_.group.get());
  together_->describe(classified_);
  NodeQueue &queue = meeting_.group->queue();
  queue.join(together_.get());
  meeting_.order->set_placed(this);
  // So that the others see it, though the program may compute from here on.
  static_cast<void>(queue.advance(*together_));
  return true;
}

// Other calls wait until this one has said settle(), so that they come after it.
bool NodeRequest::go_on_meeting() {
  RequestGroup &requests = *meeting_.requests;
  const RequestGroup::Way way = requests.advance(call_.pattern, number_, this);
  if (way == RequestGroup::Way::kWait) return false;
  if (way == RequestGroup::Way::kTogether && !meeting_.order->may_be_placed(this)) return false;
  struct Settling {
    RequestGroup &requests;
    ~Settling() { requests.settle(); }
  } const settling{requests};
  number_ = 0;
  Status status;
  if (way == RequestGroup::Way::kTogether) {
    meeting_.group = requests.group();
    static_cast<void>(join_group());  // it may
  } else {
    status = way == RequestGroup::Way::kFailed ? host_error(call_, requests.failure()) : stage(requests.comm());
    is_staged_ = status.is_ok();
    meeting_.order->leave(this);
  }
  return status.is_ok() ? false : complete(std::move(status));
}

bool NodeRequest::go_on() {
  if (number_ != 0) return go_on_meeting();
  if (is_staged_) return go_on_staged();
  return (together_ != nullptr || join_group()) && go_on_together();
}

void NodeRequest::leave() noexcept {
  if (together_ != nullptr) meeting_.group->queue().leave(*together_);
  meeting_.order->leave(this);
}

bool NodeRequest::go_on_together() {
  NodeQueue &queue = meeting_.group->queue();
  const NodeCall::Outcome outcome = queue.advance(*together_);
  if (outcome == NodeCall::Outcome::kNone) return false;
  Status result = outcome == NodeCall::Outcome::kFailed ? together_->failure() : Status();
  if (outcome == NodeCall::Outcome::kStaged) {
    // In the order of the calls, on all ranks: what began before is settled by then.
    if (!meeting_.order->is_turn(this)) return false;
    result = stage(meeting_.group->staging_comm());
    is_staged_ = result.is_ok();
  }
  leave();
  return is_staged_ ? false : complete(std::move(result));
}

}  // namespace sluice::ops::coll
