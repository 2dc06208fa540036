// SPDX-License-Identifier: BSD-3-Clause
// Staging (CCGrid'23, section III.B, algorithm 1): device data is brought into host memory for the host MPI to send, or
// brought up from host memory that the host MPI has received into. Without MPI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "device/staging_pool.hpp"
#include "device/untouched_memory.hpp"
#include "transfer/region.hpp"

namespace sluice::transfer {

// A region with host memory beside it: the payload packed, in the order in which it travels; or an image of the region,
// in which each byte lies as far from the lowest one as in the region. One thread at a time, where nothing else is
// said.
class Staged {
 public:
  Staged() noexcept = default;

  // Takes staging memory of the kind `memory`, or the other `room`, for the whole of `region`, `least_bytes` at least.
  // Address space suits who most likely writes little there; where there is none left, it is staging memory. Copies
  // nothing. Errors: no memory, the program's memory was freed.
  [[nodiscard]] Status open(const Region &region, StagingMemory memory, std::uint64_t least_bytes = 0,
                            StagingRoom room = StagingRoom::kPool);
  // The same for an image; the region's span is known (not 0). Errors: the same.
  [[nodiscard]] Status open_image(const Region &region, StagingMemory memory);

  // Copies the region's payload down into the staging memory; an image in one piece, gaps and all, where the region
  // lies in one allocation. Blocks. Errors: those of the runtime, and a run that leaves its memory; the region is as it
  // was.
  [[nodiscard]] Status copy_down() const;

  // Copies the first `size_bytes` of the staging memory up into the region and touches no other byte of it: neither
  // what lies behind a short message, nor the gaps of a type. Blocks. Errors of the runtime: a part may be there.
  [[nodiscard]] Status copy_up(std::uint64_t size_bytes) const;

  // The same for `count` elements from element `first` on, all of them the region's, of a payload that is no image.
  // Block. Any thread; different elements at the same time. Errors: as copy_down() and copy_up().
  [[nodiscard]] Status copy_elements_down(std::int64_t first, std::int64_t count) const;
  [[nodiscard]] Status copy_elements_up(std::int64_t first, std::int64_t count) const;

  // Nothing has been written behind the first `size_bytes` of the staging memory.
  void note_written(std::uint64_t size_bytes) noexcept { untouched_.note_written(size_bytes); }

  // The staging memory, from its first byte on; null until it is open. The host MPI may write there.
  [[nodiscard]] bool is_open() const noexcept { return data() != nullptr; }
  [[nodiscard]] std::byte *data() const noexcept { return untouched_.is_empty() ? lease_.data() : untouched_.data(); }
  // What stands for the region's origin in the image: may lie outside the staging memory, as an MPI buffer address may.
  [[nodiscard]] std::byte *image_origin() const noexcept;
  [[nodiscard]] const Region &region() const noexcept { return region_; }

 private:
  enum class Direction : std::uint8_t { kDown, kUp };
  [[nodiscard]] Status acquire(const Region &region, StagingMemory memory, std::uint64_t size_bytes, StagingRoom room);
  // The first `size_bytes` of the payload of `part`, which lies at `staged` in the staging memory.
  [[nodiscard]] Status copy(Direction direction, const Region &part, std::byte *staged, std::uint64_t size_bytes) const;
  [[nodiscard]] Status copy_blocks(Direction direction, const Region &part, std::byte *staged,
                                   std::uint64_t size_bytes) const;
  // As one command of the device, if it takes it.
  [[nodiscard]] Status copy_by_kernel(Direction direction, const Region &part, std::byte *staged,
                                      std::uint64_t size_bytes, bool *is_done) const;
  [[nodiscard]] Status copy_elements(Direction direction, std::int64_t first, std::int64_t count) const;
  [[nodiscard]] Status copy_image_down() const;

  Region region_;
  // One of the two, once open.
  device::StagingLease lease_;
  device::UntouchedMemory untouched_;
  bool is_image_ = false;
};

}  // namespace sluice::transfer
