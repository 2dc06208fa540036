// SPDX-License-Identifier: BSD-3-Clause
// NodeReduction: a reduction that the ranks of one node compute together (docs/adr/0024). Each publishes where its
// input is and where its result goes; each reduces a share of the elements from all inputs, in the order of the ranks,
// and writes it to all ranks that get it, with one kernel, or long ones with copy engines before it
// (node_pipeline.hpp); or what it gets itself. In steps that never block.
#pragma once

#include <memory>
#include <vector>

#include "device/queue.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/node/node_offer.hpp"
#include "ops/coll/node/node_reach.hpp"
#include "ops/coll/node/part_end.hpp"
#include "ops/coll/node/reduction_work.hpp"
#include "plan/joint_reduction.hpp"
#include "transfer/reduction_pipeline.hpp"

namespace sluice::ops::coll {

// What this rank publishes of a reduction: fills *published, and the one block that is its input. False: this rank
// cannot take part. `sides` are classified. May throw std::bad_alloc. The first reduction of a pair blocks while its
// kernel is made ready. Any thread.
[[nodiscard]] bool describe_reduction(const Call &call, const Member &member, const Sides &sides,
                                      transfer::Published *published, transfer::StridedBlock *input);

// One rank's part of one: the choice, and what follows where it is not to stage. One thread at a time.
class NodeReduction {
 public:
  // Once all have published for the call `number`; this rank what is in `offer`.
  NodeReduction(const Call &call, const Member &member, const Sides &sides, const NodeOffer &offer, NodeGroup *group,
                std::uint64_t number);

  // The choice, the same on all ranks; what they said is in *heard, where that is not what was done for the last call.
  // Errors: what a rank said makes no sense. May throw std::bad_alloc.
  [[nodiscard]] Status plan(transfer::Heard *heard, plan::JointReductionPlan *plan);
  // Where that is not to stage. May throw std::bad_alloc.
  [[nodiscard]] MaybePartEnd begin(const transfer::Heard &heard);
  [[nodiscard]] MaybePartEnd advance();
  // Bytes of input that this rank reads, once it has begun.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return planned_->work.bytes; }

 private:
  [[nodiscard]] Status find_work(const transfer::Heard &heard);
  [[nodiscard]] MaybePartEnd enqueue();
  [[nodiscard]] MaybePartEnd go_on_in_pipeline();
  [[nodiscard]] MaybePartEnd finish();
  [[nodiscard]] MaybePartEnd begin_move();
  // Whether all ranks have come to `step` of a call in which they wait for each other; if one never will, *end is how
  // it ends here.
  [[nodiscard]] bool have_all_come_to(std::uint32_t step, MaybePartEnd *end) const;

  const Call &call_;
  const Member &member_;
  const CollectiveSide &input_;
  const NodeOffer &offer_;
  NodeGroup &group_;
  transfer::Board &board_;
  const std::uint64_t number_;
  plan::JointReductionPlan plan_;
  enum class Stage : std::uint8_t { kAwaitsConsent, kComputes, kAwaitsOthers, kMoves };
  Stage stage_ = Stage::kComputes;
  NodeReach reach_;
  PlannedReductionPtr planned_;
  std::unique_ptr<transfer::ReductionPipeline> pipeline_;  // what carries them out, if it is there
  device::Queue queue_;                                    // outlives what is under way
  device::PendingCopy under_way_;
};

}  // namespace sluice::ops::coll
