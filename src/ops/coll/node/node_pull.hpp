// SPDX-License-Identifier: BSD-3-Clause
// NodePull: how a rank gets its blocks of a call that the ranks of a node carry out together: out of the memory that
// the others published, all copies in one list, and by one kernel each block that has too many runs for that; its own
// out of its own buffer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/trace.hpp"
#include "device/queue.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/node/node_offer.hpp"
#include "ops/coll/node/node_reach.hpp"
#include "ops/coll/node/part_end.hpp"
#include "plan/copy_means.hpp"
#include "transfer/board.hpp"

namespace sluice::ops::coll {

// Threads: one at a time. Nothing blocks but choose_means() and finish(). What it is given outlives it. May throw
// std::bad_alloc. The order is choose_means() or use_engines(), begin_own() where begins_early(), begin(), advance().
class NodePull {
 public:
  NodePull(const Call &call, const Member &member, const Sides &sides, const NodeOffer &offer,
           NodeReach *reach) noexcept
      : call_(call), member_(member), sides_(sides), offer_(offer), reach_(*reach) {}
  ~NodePull() { finish(); }
  NodePull(const NodePull &) = delete;
  NodePull &operator=(const NodePull &) = delete;
  NodePull(NodePull &&) = delete;
  NodePull &operator=(NodePull &&) = delete;

  // What makes the copies of an offer that takes part. Blocks: while a kernel is tried for the first time, so it is
  // called before the others are told anything.
  void choose_means();
  void use_engines() noexcept { means_ = plan::CopyMeans::kEngines; }
  // Whether one kernel makes all the copies.
  [[nodiscard]] bool is_by_kernel() const noexcept { return means_ == plan::CopyMeans::kKernel; }

  // Whether the rank's own blocks begin before the others' are known, as far as this rank can tell whether all will
  // pull; and beginning them. Errors: the runtime's. What has begun is waited for by finish() only.
  [[nodiscard]] bool begins_early() const;
  [[nodiscard]] PartEnd begin_own();
  // Begins all that is wanted, of what the others said, which is checked before it is believed. None: advance() says
  // when it ends. Errors: the runtime's; a rank's words make no sense; refused: the lengths of two ranks differ, or no
  // kernel takes a block; not reached: memory of another rank cannot be opened.
  [[nodiscard]] MaybePartEnd begin(const transfer::Heard &heard);
  // None: not all has come yet. Errors: the runtime's.
  [[nodiscard]] MaybePartEnd advance();
  // Blocks: until nothing is under way, done or given up. No error is told.
  void finish() noexcept;

 private:
  // Where a block that is wanted lies: as others say it, or in this rank's own buffer.
  struct Source {
    transfer::StridedBlock block;  // of one that is regular
    const std::byte *base = nullptr;
    const transfer::Region *own = nullptr;
    bool is_regular = true;
    std::uint64_t size_bytes = 0;
  };

  // Where all that is wanted goes.
  [[nodiscard]] const device::Place &place() const noexcept { return sides_.recv.place(); }
  [[nodiscard]] Source find_own(const NodeBlocks::Wanted &wanted) const;
  [[nodiscard]] PartEnd find(const transfer::Heard &heard, const NodeBlocks::Wanted &wanted, Source *source);
  [[nodiscard]] PartEnd find_elsewhere(const transfer::Heard &heard, const NodeBlocks::Wanted &wanted, Source *source);
  [[nodiscard]] PartEnd add(const Source &source, const NodeBlocks::Wanted &wanted, device::Queue *queue,
                            std::vector<sluice_copy_t> *copies);
  [[nodiscard]] Status enqueue_block(const Source &source, const NodeBlocks::Wanted &wanted, device::Queue *queue,
                                     bool *is_refused);
  void choose_own_means(const plan::OwnBlockQuery &query);
  [[nodiscard]] Status enqueue_by_means(std::vector<sluice_copy_t> *copies);
  [[nodiscard]] Status enqueue_as_kernel(device::Queue *queue, std::vector<sluice_copy_t> *copies, bool *is_made);

  const Call &call_;
  const Member &member_;
  const Sides &sides_;
  const NodeOffer &offer_;
  NodeReach &reach_;
  plan::CopyMeans means_ = plan::CopyMeans::kEngines;
  plan::CopyPlan own_plan_;  // of own blocks that begin early
  device::Queue queue_;      // outlives the copy
  device::PendingCopy copy_;
  device::Queue own_queue_;  // of long own blocks, beside the other
  device::PendingCopy own_copy_;
  bool has_small_pages_ = false;  // some of what others send lies in them
  bool has_own_ = false;          // the rank's own blocks are on their way, or there
  bool is_under_way_ = false;     // something is, in either queue
  bool has_copies_ = false;       // not all of it by kernels
  std::uint64_t bytes_ = 0;
  trace::Span span_;
};

}  // namespace sluice::ops::coll
