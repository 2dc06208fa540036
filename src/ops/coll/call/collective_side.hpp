// SPDX-License-Identifier: BSD-3-Clause
// CollectiveSide: one buffer of a collective call at this rank: classified, planned, and made ready for the host MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/statistics.hpp"
#include "ops/coll/call/call.hpp"
#include "plan/plan.hpp"
#include "transfer/staged_blocks.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops::coll {

using transfer::Access;
using transfer::Down;

// What the call does with each block of a buffer. Any thread may ask it.
struct BlockAccess {
  Access all = Access::kNone;
  int exception = -1;  // this block is accessed as `exceptional` says
  Access exceptional = Access::kNone;
  const std::vector<int> *ranks = nullptr;  // whom each is for or from; those of MPI_PROC_NULL are not accessed

  // What it does with that block, which there is.
  [[nodiscard]] Access of(int block) const noexcept {
    if (ranks != nullptr && (*ranks)[static_cast<std::size_t>(block)] == MPI_PROC_NULL) return Access::kNone;
    return block == exception ? exceptional : all;
  }
};

// What becomes of the payload inside the host MPI.
enum class Use : std::uint8_t {
  kMoved,
  kCut,  // moved in pieces of so many elements as their extent says: MPICH's MPI_Allgatherv
  kReduced
};

// Whether the arrays that the call should have are there. Pure.
[[nodiscard]] bool has_arrays(const Argument &argument) noexcept;

// Types of ours, for one call. Move only. One thread at a time.
class OwnTypes {
 public:
  // A type of `size_bytes` bytes without gaps. Errors: the host MPI refuses.
  [[nodiscard]] Status make(std::uint64_t size_bytes, MPI_Datatype *type);

 private:
  struct Made {
    std::uint64_t size_bytes;
    wire::OwnedDatatype type;
  };
  std::vector<Made> types_;
};

// The buffer, and what stands for it in the host MPI's call. One thread at a time.
class CollectiveSide {
 public:
  // Classify and plan: a buffer of `n_blocks` blocks, which are accessed as `access` says. A side that goes to the host
  // MPI unread (host memory, nothing to move, or arguments that are for the host MPI to refuse) is no error and is not
  // staged. Errors: those of layout_of(), a backend's query, kInvalidArgument: its blocks reach farther than an
  // address. State: content() is kUnread then.
  [[nodiscard]] Status classify(const Argument &argument, int n_blocks, const BlockAccess &access, Use use);

  // The host MPI is given staging memory.
  [[nodiscard]] bool is_staged() const noexcept { return plan_.route == Route::kStaged; }

  // What classify() found.
  enum class Content : std::uint8_t {
    kNothing,  // no bytes at this rank, or the buffer means nothing here
    kUnread,   // for the host MPI to refuse
    kHost,     // bytes that the host MPI may touch
    kDevice    // bytes that it may not
  };
  [[nodiscard]] Content content() const noexcept { return content_; }
  // Why this rank cannot move its data as the call says, though its arguments may be good: its blocks run over the end
  // of their allocation. It may stage all the same, which then copies nothing of this side.
  [[nodiscard]] const Status &refusal() const noexcept { return refusal_; }
  // Of kDevice: where the bytes lie; whether their addresses count from MPI_BOTTOM, and may lie elsewhere too.
  [[nodiscard]] const device::Place &place() const noexcept { return place_; }
  [[nodiscard]] bool is_absolute() const noexcept { return origin_ == MPI_BOTTOM; }
  // Block `index` of the call's; one of no bytes has no layout.
  [[nodiscard]] transfer::Region block(int index) const;
  [[nodiscard]] transfer::Span span() const noexcept { return blocks_.span(); }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return blocks_.size_bytes(); }
  // No bytes lie between those of its blocks.
  [[nodiscard]] bool is_dense() const noexcept { return size_bytes() != 0 && span().size_bytes == size_bytes(); }

  // Execute, the part before the host MPI's call: takes staging memory and puts into *argument, the one that was
  // classified, what the host MPI is to be given. The types and arrays in it live as long as this side. Only for a
  // staged side. Blocks. Errors: no memory, the host MPI refuses a type.
  [[nodiscard]] Status open(Argument *argument);
  // The same with staging memory for all of `reach`, and without any, in that of `other`: for buffers that overlap.
  // Errors: no memory, the program's memory was freed.
  [[nodiscard]] Status open_reaching(const transfer::Span &reach, Argument *argument);
  void open_within(const CollectiveSide &other, Argument *argument) noexcept;
  // Brings what `down` says into the staging memory. Nothing for a side that is not staged. Blocks. Errors: those of
  // transfer::StagedBlocks::copy_down(); of a refused side whose data are missed, the refusal.
  [[nodiscard]] Status copy_down(Down down) const;
  // The part after it: brings what was written up into the program's buffer. Nothing for a side that is not staged.
  // Errors: those of transfer::StagedBlocks::copy_up(); of a refused side, the refusal.
  [[nodiscard]] Status copy_up() const;

  // Counts one call in the statistics, unless the buffer means nothing here: by the route that was planned, or `route`.
  void record(Operation operation, std::chrono::nanoseconds time) const noexcept {
    record(operation, plan_.route, time);
  }
  void record(Operation operation, Route route, std::chrono::nanoseconds time) const noexcept;

 private:
  // What the first block with bytes says: where it lies, and whether the arguments are good so far.
  [[nodiscard]] Status look(const Argument &argument);
  [[nodiscard]] Status add_blocks(const Argument &argument, const BlockAccess &access, bool *is_good,
                                  std::vector<transfer::StagedBlock> *blocks);
  [[nodiscard]] Status layout_at(const Argument &argument, std::size_t block);
  void count_host_bytes(const Argument &argument);
  [[nodiscard]] bool can_pack(const Argument &argument) const noexcept;
  [[nodiscard]] Status pack(Argument *argument);

  int n_blocks_ = 0;
  bool is_significant_ = false;
  bool is_regular_ = false;
  Content content_ = Content::kNothing;
  std::byte *origin_ = nullptr;
  std::int64_t count_ = 0;  // of each block of a regular buffer
  std::uint64_t moved_bytes_ = 0;
  device::Place place_;
  plan::Plan plan_;
  transfer::StagedBlocks blocks_;
  Status refusal_;
  std::vector<int> indices_;  // of blocks_, among the blocks of the call
  // The layout found last, and its type.
  MPI_Datatype type_{};
  transfer::LayoutPtr layout_;
  // What stands for the program's arrays and types.
  std::vector<std::int32_t> displacements_;
  std::vector<std::int64_t> wide_displacements_;
  std::vector<MPI_Datatype> types_;
  OwnTypes own_types_;
};

}  // namespace sluice::ops::coll
