// SPDX-License-Identifier: BSD-3-Clause
// CutCall: one rank's part of a collective call in segments: which of its blocks are cut, and the segments on their way
// through staging memory and the host MPI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/trace.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "plan/segments.hpp"
#include "transfer/cut_blocks.hpp"

namespace sluice::ops::coll {

// One thread at a time. What it is given outlives it, and stays where it is.
class CutCall {
 public:
  CutCall(const Call &call, const Member &member) noexcept : call_(call), member_(member) {}

  // Finds the blocks and takes staging memory for their parts; says what this rank can do, and of unequal blocks how
  // long its longest buffer is (query->longest_bytes). Blocks for nobody.
  [[nodiscard]] plan::SegmentAbility open(const Sides &sides, plan::SegmentQuery *query);

  // Before the first advance(): what all ranks came to, from `query`.
  void begin(const plan::SegmentQuery &query, const plan::SegmentPlan &plan) noexcept;
  // Goes as far as is possible without blocking; true when all segments are through. A rank that has a failure copies
  // no more, but goes on making the calls of the host MPI: the others wait in them.
  [[nodiscard]] bool advance();
  [[nodiscard]] const Status &failure() const noexcept { return failure_; }

 private:
  enum class Stage : std::uint8_t { kFree, kDown, kReady, kWire, kUp };
  struct Slot {
    Stage stage = Stage::kFree;
    std::uint64_t segment = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    trace::Span span;  // of the copy or of the request, whichever is under way
  };

  [[nodiscard]] plan::SegmentAbility ability() const;

  // Of equal blocks.
  [[nodiscard]] std::uint64_t part_bytes_in(std::uint64_t segment) const noexcept;
  [[nodiscard]] std::size_t index_of(const Slot &slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.data());
  }
  void begin_segments();
  void step(Slot *slot);
  // Whether a copy has ended; takes note of its error.
  [[nodiscard]] bool has_copied(transfer::CutBlocks *side, Slot *slot, trace::Lane lane);
  void send(Slot *slot);
  [[nodiscard]] int start_in_host(Slot *slot);
  [[nodiscard]] int start_reduction(Slot *slot);
  [[nodiscard]] int start_unequal(Slot *slot);
  [[nodiscard]] bool has_come(Slot *slot);
  void end_span(Slot *slot, trace::Lane lane) const noexcept;
  void fail(Status status);

  const Call &call_;
  const Member &member_;
  std::uint64_t block_bytes_ = 0;
  std::uint64_t unit_bytes_ = 1;
  bool is_unequal_ = false;
  transfer::CutBlocks send_;
  transfer::CutBlocks recv_;
  plan::SegmentPlan plan_;
  std::array<Slot, transfer::CutBlocks::kSlots> slots_;
  std::uint64_t n_begun_ = 0;
  std::uint64_t n_sent_ = 0;  // given to the host MPI, in the same order on all ranks
  std::uint64_t n_done_ = 0;
  Status failure_;
};

}  // namespace sluice::ops::coll
