// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "device/copy.hpp"

namespace sluice::transfer {
std::int64_t Region::first_byte() const noexcept {
  // Elements may run backwards: then the last one is the lowest.
  return layout->first_byte + std::min<std::int64_t>(0, (count - 1) * layout->extent_bytes);
}

std::uint64_t Region::span_bytes() const noexcept {
  if (count <= 0) return 0;
  std::int64_t distance = 0;  // from the first element to the last
  std::int64_t span = 0;
  if (__builtin_mul_overflow(count - 1, layout->extent_bytes, &distance) ||
      distance == std::numeric_limits<std::int64_t>::min() ||
      __builtin_sub_overflow(layout->end_byte, layout->first_byte, &span) ||
      __builtin_add_overflow(span, std::abs(distance), &span) || span <= 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(span);
}

Status Staged::open(const Region &region, StagingMemory memory, std::uint64_t least_bytes) {
  is_image_ = false;
  return acquire(region, memory, std::max(region.size_bytes(), least_bytes));
}

Status Staged::open_image(const Region &region, StagingMemory memory) {
  is_image_ = true;
  return acquire(region, memory, region.span_bytes());
}

Status Staged::acquire(const Region &region, StagingMemory memory, std::uint64_t size_bytes) {
  if (region.place.kind == MemoryKind::kFreed) {
    return Status::error(
        ErrorKind::kBadBuffer,
        fmt::format("the buffer at {} was device memory of {} and has been freed; keep it allocated until "
                    "the operation is complete",
                    static_cast<const void *>(region.origin), region.place.backend->name()));
  }
  region_ = region;
  return device::StagingPool::process().acquire({region.place.backend, region.place.device, memory}, size_bytes,
                                                &lease_);
}

std::byte *Staged::image_origin() const noexcept {
  return at(lease_.data(), -region_.first_byte());
}

Status Staged::copy_down() const {
  if (is_image_) return copy_image_down();
  return copy(Direction::kDown, region_, lease_.data(), region_.size_bytes());
}

Status Staged::copy_up(std::uint64_t size_bytes) const {
  return copy(Direction::kUp, region_, lease_.data(), std::min(size_bytes, region_.size_bytes()));
}

Status Staged::copy_elements_down(std::int64_t first, std::int64_t count) const {
  return copy_elements(Direction::kDown, first, count);
}

Status Staged::copy_elements_up(std::int64_t first, std::int64_t count) const {
  return copy_elements(Direction::kUp, first, count);
}

Status Staged::copy_elements(Direction direction, std::int64_t first, std::int64_t count) const {
  const Layout &layout = *region_.layout;
  const Region part = {at(region_.origin, first * layout.extent_bytes), count, region_.layout, region_.place};
  std::byte *staged = lease_.data() + static_cast<std::uint64_t>(first) * layout.size_bytes;
  return copy(direction, part, staged, part.size_bytes());
}

Status Staged::copy(Direction direction, const Region &part, std::byte *staged, std::uint64_t size_bytes) const {
  if (!part.layout->is_contiguous) return copy_blocks(direction, part, staged, size_bytes);
  return direction == Direction::kDown ? device::copy(part.place, staged, part.origin, size_bytes)
                                       : device::copy(part.place, part.origin, staged, size_bytes);
}

Status Staged::copy_image_down() const {
  std::byte *lowest = at(region_.origin, region_.first_byte());
  const std::uint64_t span = region_.span_bytes();
  device::Place first;
  device::Place last;
  if (Status status = device::classify(lowest, &first); !status.is_ok()) return status;
  if (Status status = device::classify(lowest + span - 1, &last); !status.is_ok()) return status;
  // Bytes of one allocation have memory between them, so the gaps may be read; what is in them is sent nowhere.
  const bool is_one_allocation =
      first.allocation_id != 0 && first.backend == last.backend && first.allocation_id == last.allocation_id;
  if (is_one_allocation) return device::copy(region_.place, lease_.data(), lowest, span);
  return copy_blocks(Direction::kDown, region_, lease_.data(), region_.size_bytes());
}

Status Staged::copy_blocks(Direction direction, const Region &part, std::byte *staged, std::uint64_t size_bytes) const {
  // A bounded batch: a large message of small blocks must not need a list as large as itself.
  constexpr std::size_t kBatch = 4096;
  std::vector<sluice_copy_t> pieces;
  pieces.reserve(std::min<std::size_t>(kBatch, part.layout->blocks.size() * static_cast<std::size_t>(part.count)));
  std::uint64_t left = size_bytes;
  for (std::int64_t element = 0; element < part.count && left > 0; ++element) {
    const std::int64_t origin = element * part.layout->extent_bytes;
    for (const Block &block : part.layout->blocks) {
      const std::uint64_t size = std::min(left, block.size_bytes);
      if (size == 0) break;
      std::byte *memory = at(part.origin, origin + block.offset_bytes);
      if (is_image_) staged = at(image_origin(), origin + block.offset_bytes);
      if (direction == Direction::kDown) {
        pieces.push_back({staged, memory, size});
      } else {
        pieces.push_back({memory, staged, size});
      }
      staged += size;
      left -= size;
      if (pieces.size() == kBatch) {
        if (Status status = device::copy(part.place, pieces); !status.is_ok()) return status;
        pieces.clear();
      }
    }
  }
  return device::copy(part.place, pieces);
}

}  // namespace sluice::transfer
