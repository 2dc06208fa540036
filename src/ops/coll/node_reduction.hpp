// SPDX-License-Identifier: BSD-3-Clause
// NodeReduction: a reduction that the ranks of one node compute together (docs/adr/0024). Each publishes where its
// input is and where its result goes; each reduces a share of the elements from all inputs, in the order of the ranks,
// and writes it to all ranks that get it, with one kernel, or long ones with copy engines before it
// (node_pipeline.hpp); or what it gets itself. In steps that never block.
#pragma once

#include <memory>
#include <vector>

#include "device/queue.hpp"
#include "ops/coll/carry_out.hpp"
#include "ops/coll/node_reach.hpp"
#include "ops/coll/node_step.hpp"
#include "plan/joint_reduction.hpp"
#include "transfer/reduction_pipeline.hpp"
#include "transfer/reduction_steps.hpp"

namespace sluice::ops::coll {

// What this rank publishes of a reduction: fills *published, and the one block that is its input. False: this rank
// cannot take part. `sides` are classified. May throw std::bad_alloc. The first reduction of a pair blocks while its
// kernel is made ready.
[[nodiscard]] bool describe_reduction(const Call &call, const Member &member, const Sides &sides,
                                      transfer::Published *published, transfer::StridedBlock *input);

// The choice, from what all have published for the call `number`.
[[nodiscard]] plan::JointReductionPlan agree_on_reduction(const Call &call, const Member &member,
                                                          const transfer::Board &board, std::uint64_t number);

// One rank's part of one that is not staged. One thread at a time.
class NodeReduction {
 public:
  NodeReduction(const Call &call, const Member &member, const Sides &sides, NodeGroup *group,
                const plan::JointReductionPlan &plan, std::uint64_t number);

  [[nodiscard]] Step begin();
  [[nodiscard]] Step advance();
  // Bytes of input that this rank reads.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  // Where all inputs begin, and where results go; by rank, null where there is none.
  struct Operands {
    std::vector<const std::byte *> inputs;
    std::vector<std::byte *> results;
    std::size_t n_elsewhere = 0;  // inputs that may lie on another device than this rank's
  };
  [[nodiscard]] Status reach(Operands *operands);
  void add_shares(const Operands &operands);
  void add_own(const Operands &operands);
  void add(const Operands &operands, std::size_t n_sources, std::span<std::byte *const> results,
           transfer::Share elements, std::uint64_t result_element);
  [[nodiscard]] Step enqueue();
  [[nodiscard]] Step go_on_in_pipeline();
  [[nodiscard]] Step finish();
  [[nodiscard]] Step begin_move();
  // Whether all ranks have come to `step` of a call in which they wait for each other; `gives_up`: one never will.
  [[nodiscard]] bool have_all_come_to(std::uint32_t step, bool *gives_up) const noexcept;
  [[nodiscard]] bool is_elsewhere(const transfer::Published &said) const noexcept;
  [[nodiscard]] bool gets_result(std::size_t rank) const noexcept;
  [[nodiscard]] std::size_t n_inputs_of(std::size_t rank) const noexcept;

  const Call &call_;
  const Member &member_;
  const device::Place &place_;
  transfer::Board &board_;
  const plan::JointReductionPlan plan_;
  const std::uint64_t number_;
  const std::uint64_t element_bytes_;
  std::uint64_t count_ = 0;  // elements of each input
  std::uint32_t pair_ = 0;
  std::uint64_t device_identity_ = 0;  // as this rank said; 0: not known
  enum class Stage : std::uint8_t { kAwaitsConsent, kComputes, kAwaitsOthers, kMoves };
  Stage stage_ = Stage::kComputes;
  // MPI_Reduce_scatter in place: the block is computed where it lies, and moved to the front when nobody reads there.
  std::byte *block_ = nullptr;
  std::uint64_t block_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  NodeReach reach_;
  std::vector<transfer::ReductionStep> steps_;
  std::unique_ptr<transfer::ReductionPipeline> pipeline_;  // what carries them out, if it is there
  device::Queue queue_;                                    // outlives what is under way
  device::PendingCopy under_way_;
};

}  // namespace sluice::ops::coll
