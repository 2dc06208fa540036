// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_queue.hpp"

#include <algorithm>

namespace sluice::ops::coll {

void NodeQueue::join(NodeCall *call) {
  const std::scoped_lock lock(mutex_);
  calls_.push_back(call);
  call->begin(++n_joined_);
}

// The others may write over how the call of that slot ended once this one is published: so it has to be read before.
bool NodeQueue::may_publish(std::uint64_t number) noexcept {
  return board_.may_publish(number) && std::none_of(calls_.begin(), calls_.end(), [number](const NodeCall *call) {
           return call->number() + transfer::Board::kSlots <= number && call->outcome() == NodeCall::Outcome::kNone;
         });
}

NodeCall::Outcome NodeQueue::advance(const NodeCall &call) {
  const std::scoped_lock lock(mutex_);
  for (NodeCall *each : calls_) {
    if (!each->is_published()) {
      if (!may_publish(each->number()) || !each->is_packed()) break;
      each->publish();
    }
    each->advance();
  }
  return call.outcome();
}

void NodeQueue::leave(const NodeCall &call) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase(calls_, &call);
}

}  // namespace sluice::ops::coll
