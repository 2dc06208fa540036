// SPDX-License-Identifier: BSD-3-Clause
// NodeChain: a rank's part of a broadcast that passes from rank to rank (docs/adr/0014). The ranks stand in a row, the
// root first, and each pulls, chunk by chunk, from the one before it what has come there; or in two rows, one the other
// way round, of which each carries half of the bytes: then each rank pulls from two others at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/trace.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/node_offer.hpp"
#include "ops/coll/node/node_reach.hpp"
#include "ops/coll/node/node_step.hpp"
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

  [[nodiscard]] Step begin();
  [[nodiscard]] Step advance();

 private:
  // Bytes [first, first + size) of the payload, which come from the rank `before`.
  struct Row {
    int before = 0;
    std::uint64_t first_byte = 0;
    std::uint64_t size_bytes = 0;
    std::unique_ptr<transfer::ChunkedCopy> copy;  // null: nothing to pull
  };

  void cut(const transfer::Published &root);
  [[nodiscard]] Step open(Row *row, std::uint64_t chunk_bytes);
  // How many chunks of each row have come here.
  template <typename CountOf>
  void say(CountOf count_of) noexcept;
  [[nodiscard]] int rank_beside(int distance) const noexcept {
    return (member_.rank + distance + member_.size) % member_.size;
  }

  const Call &call_;
  const Member &member_;
  const NodeOffer &offer_;
  const device::Place &place_;
  transfer::Board &board_;
  const std::uint64_t number_;
  const transfer::Heard &heard_;
  NodeReach &reach_;
  std::array<Row, 2> rows_;
  std::size_t n_rows_ = 1;
  std::uint64_t bytes_ = 0;
  trace::Span span_;
};

}  // namespace sluice::ops::coll
