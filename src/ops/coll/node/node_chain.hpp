// SPDX-License-Identifier: BSD-3-Clause
// NodeChain: a rank's part of a broadcast that passes from rank to rank (docs/adr/0014). The ranks stand in a row, the
// root first, and each pulls, chunk by chunk, from the one before it what has come there.
#pragma once

#include <cstdint>
#include <memory>

#include "base/trace.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/node_offer.hpp"
#include "ops/coll/node/node_reach.hpp"
#include "ops/coll/node/part_end.hpp"
#include "transfer/board.hpp"
#include "transfer/chunked_copy.hpp"

namespace sluice::ops::coll {

// One thread at a time; nothing blocks but the destructor, which waits for what is under way. What it is given outlives
// it.
class NodeChain {
 public:
  // Of the call `number`, of which all have said what is in `heard`. `place`: of the memory that is broadcast here.
  NodeChain(const Call &call, const Member &member, const NodeOffer &offer, const device::Place &place,
            transfer::Board &board, std::uint64_t number, const transfer::Heard &heard, NodeReach *reach) noexcept
      : call_(call),
        member_(member),
        offer_(offer),
        place_(place),
        board_(board),
        number_(number),
        heard_(heard),
        reach_(*reach) {}

  // Starts this rank's part, once; then goes one step on, and never waits for another rank. A value: the part is over.
  [[nodiscard]] MaybePartEnd begin();
  [[nodiscard]] MaybePartEnd advance();

 private:
  [[nodiscard]] int rank_before() const noexcept { return (member_.rank + member_.size - 1) % member_.size; }

  const Call &call_;
  const Member &member_;
  const NodeOffer &offer_;
  const device::Place &place_;
  transfer::Board &board_;
  const std::uint64_t number_;
  const transfer::Heard &heard_;
  NodeReach &reach_;
  std::unique_ptr<transfer::ChunkedCopy> copy_;  // null at the root, and where there is nothing to pull
  std::uint64_t bytes_ = 0;
  trace::Span span_;
};

}  // namespace sluice::ops::coll
