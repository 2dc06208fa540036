// SPDX-License-Identifier: BSD-3-Clause
// Staging for a buffer of many blocks, of which some are read and some are written: what a collective operation has at
// a rank (CCGrid'23, section III.D: only the useful data is copied). Without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/staging_pool.hpp"
#include "transfer/layout.hpp"
#include "transfer/staged.hpp"

namespace sluice::transfer {

// What an operation does with a block.
enum class Access : std::uint8_t { kNone, kRead, kWrite, kReadWrite };

// What comes down before the operation: what is read, what the memory holds that is only written, or both. The second
// is for an operation that may write less than the blocks are long: what it leaves alone goes up again unchanged.
enum class Down : std::uint8_t { kRead, kWritten, kAccessed };

// One block: elements of one type. Blocks of no bytes are left out.
struct StagedBlock {
  Region region;
  Access access = Access::kNone;
  std::byte *staged = nullptr;  // set by open_...: in an image what stands for the origin, else the first byte

  // By the operation: what has to come down before it, and to go up after it.
  [[nodiscard]] bool is_read() const noexcept { return access == Access::kRead || access == Access::kReadWrite; }
  [[nodiscard]] bool is_written() const noexcept { return access == Access::kWrite || access == Access::kReadWrite; }
};

// The memory that blocks reach over.
struct Span {
  std::byte *lowest = nullptr;
  std::uint64_t size_bytes = 0;  // 0: nothing, or more than an offset can say
};

// One thread at a time.
class StagedBlocks {
 public:
  StagedBlocks() noexcept = default;

  // The blocks, all in the memory that `place` says. `is_absolute`: their addresses count from MPI_BOTTOM, so that they
  // may be in several allocations, which may lie side by side.
  void set(const device::Place &place, std::vector<StagedBlock> blocks, bool is_absolute = false) noexcept;

  // As set() was given them; and the memory that all of them reach over.
  [[nodiscard]] const std::vector<StagedBlock> &blocks() const noexcept { return blocks_; }
  [[nodiscard]] Span span() const noexcept { return span_of(false); }
  // Payload of all blocks; the largest number when it is more than that.
  [[nodiscard]] std::uint64_t size_bytes() const noexcept;
  [[nodiscard]] bool is_any_read() const noexcept;
  // Errors: kBadBuffer, where the blocks that are read or written are not all in one allocation, as far as the runtime
  // can tell; a backend's query. None of absolute addresses. Two queries.
  [[nodiscard]] Status refuse_past_the_end() const;
  // Payload of those that are read, or written.
  [[nodiscard]] std::uint64_t moved_bytes() const noexcept;

  // Takes staging memory in which each byte lies as far from the others as in the program's buffer, for all of `reach`,
  // which the blocks lie in. Copies nothing. Errors: no memory, the program's memory was freed.
  [[nodiscard]] Status open_image(StagingMemory memory, const Span &reach);
  [[nodiscard]] Status open_image(StagingMemory memory) { return open_image(memory, span()); }
  // No staging memory of its own: that of `other`, whose open image reaches over these blocks. `other` outlives what is
  // done with this.
  void share_image(const StagedBlocks &other) noexcept;
  // Takes staging memory for the payloads, one after the other. Errors: as open_image().
  [[nodiscard]] Status open_packed(StagingMemory memory);

  // Copies the blocks down that `down` says; an image of types with gaps in one piece where it lies in one allocation.
  // Blocks. Errors: those of the runtime, and a run that leaves its memory; the program's memory is as it was.
  [[nodiscard]] Status copy_down(Down down = Down::kRead) const;
  // Copies the blocks that are written up, and touches no byte between them nor in the gaps of their types. Blocks.
  // Errors: the same; a part may have been written.
  [[nodiscard]] Status copy_up() const;

  // It has staging memory of its own.
  [[nodiscard]] bool is_open() const noexcept { return !lease_.is_empty(); }
  // The first byte of packed data; of an image, what stands for `address`, which may lie outside the staging memory.
  [[nodiscard]] std::byte *data() const noexcept { return lease_.data(); }
  [[nodiscard]] std::byte *image_of(const void *address) const noexcept;

 private:
  [[nodiscard]] Span span_of(bool only_accessed) const noexcept;
  [[nodiscard]] Status acquire(StagingMemory memory, std::uint64_t size_bytes);
  [[nodiscard]] bool may_read_gaps(Down down) const noexcept;
  // Copies the blocks of which `is_moved(block)` is true.
  template <typename IsMoved>
  [[nodiscard]] Status copy_blocks(bool is_down, IsMoved is_moved) const;

  device::Place place_;
  std::vector<StagedBlock> blocks_;
  device::StagingLease lease_;
  bool is_absolute_ = false;
  bool is_image_ = false;
  std::int64_t image_distance_ = 0;  // from an address of the program's to the one that stands for it
};

}  // namespace sluice::transfer
