// SPDX-License-Identifier: BSD-3-Clause
// CutBlocks: a buffer of blocks, in device or host memory, that goes through staging memory part by part: what a long
// collective operation has at a rank. Each segment carries one part of every block; blocks that are shorter than others
// have shorter parts, or are through earlier. Without MPI.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"
#include "device/staging_pool.hpp"
#include "sluice/backend.h"

namespace sluice::transfer {

// The bytes of one block that one segment carries.
struct CutPart {
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

struct CutBlock {
  std::byte *begin = nullptr;  // anything for a block of no bytes
  std::uint64_t size_bytes = 0;
  std::uint64_t part_bytes = 1;  // in each segment until the last of this block; at least 1

  // None behind its end.
  [[nodiscard]] CutPart part(std::uint64_t segment) const noexcept {
    std::uint64_t offset = 0;
    if (__builtin_mul_overflow(segment, part_bytes, &offset)) offset = size_bytes;
    offset = std::min(offset, size_bytes);
    return {offset, std::min(part_bytes, size_bytes - offset)};
  }
};

// What a CutBlocks is opened with. Pure.
struct CutShape {
  device::Place place;           // without a backend: host memory
  std::vector<CutBlock> blocks;  // empty: there is no such buffer
  std::int64_t skipped = -1;     // this block is not copied: it is in place
  // Whoever takes the parts asks where each is (lay_out), so parts may differ from block to block, and host memory can
  // be given as it is.
  bool is_laid_out = false;
  // Host memory goes through staging memory nevertheless.
  bool is_kept_apart = false;

  // `n_blocks` blocks of one length, one after the other.
  [[nodiscard]] static CutShape of_equal(std::byte *begin, const device::Place &place, std::uint64_t n_blocks,
                                         std::uint64_t block_bytes, std::uint64_t part_bytes);
};

// One thread at a time. When destroyed before its copies are done, waits for them.
class CutBlocks {
 public:
  // As many parts are under way at the same time, each in staging memory of its own: one on its way down, one with the
  // host MPI, one on its way up.
  static constexpr std::size_t kSlots = 3;

  // Takes staging memory for the parts; one block of host memory needs none, and many need none if they are laid out
  // and an int tells how far apart they are. The memory that `shape` tells outlives this. Errors: no memory, more than
  // an int tells in one segment of a shape that is laid out. May throw std::bad_alloc, as nothing after it does but for
  // the text of an error.
  [[nodiscard]] Status open(CutShape shape, StagingMemory memory);

  // Makes the parts of a block shorter than they were when it was opened. Before the first copy.
  void set_part(std::size_t block, std::uint64_t part_bytes) noexcept { shape_.blocks[block].part_bytes = part_bytes; }

  // What open() was given, with the parts as they are now.
  [[nodiscard]] const CutShape &shape() const noexcept { return shape_; }
  // What the host MPI is given for `segment` in `slot`: the parts of all blocks, one after the other, or what lay_out()
  // counts from. Null without a buffer.
  [[nodiscard]] std::byte *data(std::size_t slot, std::uint64_t segment) const noexcept;
  // How long the part of each block is and where in data() it lies, in bytes, one int for each block; of a shape that
  // is laid out. They stay as they are until `slot` is laid out again. Null without a buffer.
  void lay_out(std::size_t slot, std::uint64_t segment) noexcept;
  [[nodiscard]] const int *sizes(std::size_t slot) const noexcept { return sizes_[slot].data(); }
  [[nodiscard]] const int *places(std::size_t slot) const noexcept { return places_[slot].data(); }
  // The bytes of all parts of a segment.
  [[nodiscard]] std::uint64_t size_bytes(std::uint64_t segment) const noexcept;

  // Begins to bring the part down into its slot, or up out of it. A copy of host memory is done when this returns.
  // Errors: those of the runtime.
  [[nodiscard]] Status begin_down(std::size_t slot, std::uint64_t segment) { return begin(slot, segment, true); }
  [[nodiscard]] Status begin_up(std::size_t slot, std::uint64_t segment) { return begin(slot, segment, false); }
  // Whether what was begun last in `slot` has ended, well or not; never blocks.
  [[nodiscard]] Status poll(std::size_t slot, bool *is_done) { return copies_[slot].poll(is_done); }

 private:
  [[nodiscard]] Status begin(std::size_t slot, std::uint64_t segment, bool is_down);
  // Whether the host MPI works with the buffer itself; sets origin_.
  [[nodiscard]] bool find_direct() noexcept;

  CutShape shape_;
  bool is_direct_ = false;
  std::byte *origin_ = nullptr;  // of blocks that are given as they are: the first byte of the lowest
  std::array<device::StagingLease, kSlots> leases_;
  std::array<std::vector<int>, kSlots> sizes_;
  std::array<std::vector<int>, kSlots> places_;
  std::vector<sluice_copy_t> pieces_;  // kept, so that nothing is allocated on the way
  device::Queue queue_;                // outlives the copies
  std::array<device::PendingCopy, kSlots> copies_;
};

}  // namespace sluice::transfer
