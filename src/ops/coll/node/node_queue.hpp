// SPDX-License-Identifier: BSD-3-Clause
// NodeQueue: the calls of one group that are under way, in the order in which the program made them.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "ops/coll/node/node_call.hpp"

namespace sluice::ops::coll {

// Any thread. Calls advance side by side, but are published in their order; one that finds no slot waits here, on this
// rank alone. The calls outlive their time in here.
class NodeQueue {
 public:
  explicit NodeQueue(transfer::Board *board) noexcept : board_(*board) {}

  // Gives `call`, described, its number and its place. Calls of one group join in the same order on all ranks.
  void join(NodeCall *call);
  // Takes a step of every call, and says how far `call` is; never blocks for other ranks.
  [[nodiscard]] NodeCall::Outcome advance(const NodeCall &call);
  // `call` has its outcome, or will never have one.
  void leave(const NodeCall &call) noexcept;

 private:
  [[nodiscard]] bool may_publish(std::uint64_t number) noexcept;

  transfer::Board &board_;
  mutable std::mutex mutex_;
  std::deque<NodeCall *> calls_;
  std::uint64_t n_joined_ = 0;
};

}  // namespace sluice::ops::coll
