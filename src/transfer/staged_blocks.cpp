// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staged_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "device/copy.hpp"

namespace sluice::transfer {
namespace {

// An image begins at the same place of a line as the program's buffer, so that what is aligned there is aligned here.
constexpr std::uint64_t kLineBytes = 64;

std::intptr_t number_of(const std::byte *address) noexcept {
  return reinterpret_cast<std::intptr_t>(address);
}

// Collects copies; neighbours become one. A bounded batch: many small pieces must not need a list as large as the data.
class Pieces {
 public:
  explicit Pieces(const device::Place &place) : place_(place) {}

  [[nodiscard]] Status add(std::byte *dst, const std::byte *src, std::uint64_t size_bytes) {
    if (size_bytes == 0) return {};
    if (!pieces_.empty()) {
      sluice_copy_t &last = pieces_.back();
      if (static_cast<std::byte *>(last.dst) + last.size_bytes == dst &&
          static_cast<const std::byte *>(last.src) + last.size_bytes == src) {
        last.size_bytes += size_bytes;
        return {};
      }
    }
    if (pieces_.size() == kBatch) {
      if (Status status = flush(); !status.is_ok()) return status;
    }
    pieces_.push_back({dst, src, size_bytes});
    return {};
  }

  [[nodiscard]] Status flush() {
    Status status = device::copy(place_, pieces_);
    pieces_.clear();
    return status;
  }

 private:
  static constexpr std::size_t kBatch = 4096;
  device::Place place_;
  std::vector<sluice_copy_t> pieces_;
};

}  // namespace

void StagedBlocks::set(const device::Place &place, std::vector<StagedBlock> blocks) noexcept {
  place_ = place;
  blocks_ = std::move(blocks);
}

Span StagedBlocks::span() const noexcept {
  std::intptr_t low = std::numeric_limits<std::intptr_t>::max();
  std::intptr_t high = std::numeric_limits<std::intptr_t>::min();
  for (const StagedBlock &block : blocks_) {
    const std::uint64_t bytes = block.region.span_bytes();
    std::intptr_t begin = 0;
    std::intptr_t end = 0;
    if (bytes == 0 || bytes > static_cast<std::uint64_t>(std::numeric_limits<std::intptr_t>::max()) ||
        __builtin_add_overflow(number_of(block.region.origin), block.region.first_byte(), &begin) ||
        __builtin_add_overflow(begin, static_cast<std::intptr_t>(bytes), &end)) {
      return {};
    }
    low = std::min(low, begin);
    high = std::max(high, end);
  }
  std::intptr_t size = 0;
  if (blocks_.empty() || __builtin_sub_overflow(high, low, &size)) return {};
  return {at(nullptr, low), static_cast<std::uint64_t>(size)};
}

std::uint64_t StagedBlocks::size_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const StagedBlock &block : blocks_) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(block.region.count), block.region.layout->size_bytes,
                               &bytes) ||
        __builtin_add_overflow(sum, bytes, &sum)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return sum;
}

std::uint64_t StagedBlocks::moved_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const StagedBlock &block : blocks_) {
    if (block.access != Access::kNone) sum += block.region.size_bytes();
  }
  return sum;
}

Status StagedBlocks::acquire(StagingMemory memory, std::uint64_t size_bytes) {
  if (place_.kind == MemoryKind::kFreed) {
    return Status::error(
        ErrorKind::kBadBuffer,
        fmt::format("the buffer at {} was device memory of {} and has been freed; keep it allocated until "
                    "the operation is complete",
                    static_cast<const void *>(blocks_.front().region.origin), place_.backend->name()));
  }
  if (size_bytes == 0 || size_bytes > std::numeric_limits<std::uint64_t>::max() / 2) {
    return Status::error(ErrorKind::kOutOfMemory,
                         "the buffer of a collective operation reaches over more memory than can be staged; use types "
                         "and displacements that lie in one allocation");
  }
  return device::StagingPool::process().acquire({place_.backend, place_.device, memory}, size_bytes, &lease_);
}

Status StagedBlocks::open_image(StagingMemory memory) {
  const Span all = span();
  const std::uint64_t shift = static_cast<std::uint64_t>(number_of(all.lowest)) % kLineBytes;
  if (Status status = acquire(memory, all.size_bytes == 0 ? 0 : all.size_bytes + shift); !status.is_ok()) return status;
  is_image_ = true;
  image_distance_ = number_of(lease_.data()) + static_cast<std::int64_t>(shift) - number_of(all.lowest);
  for (StagedBlock &block : blocks_) block.staged = image_of(block.region.origin);
  return {};
}

Status StagedBlocks::open_packed(StagingMemory memory) {
  if (Status status = acquire(memory, size_bytes()); !status.is_ok()) return status;
  is_image_ = false;
  std::byte *next = lease_.data();
  for (StagedBlock &block : blocks_) {
    block.staged = next;
    next += block.region.size_bytes();
  }
  return {};
}

std::byte *StagedBlocks::image_of(const void *address) const noexcept {
  return at(nullptr, reinterpret_cast<std::intptr_t>(address) + image_distance_);
}

// Gaps are read with the rest where many small copies are saved by it and all lies in one allocation, which has memory
// between any two of its bytes. What is in them goes nowhere.
bool StagedBlocks::is_read_in_one_piece() const noexcept {
  if (!is_image_ || !std::all_of(blocks_.begin(), blocks_.end(), [](const auto &b) { return b.is_read(); }) ||
      std::all_of(blocks_.begin(), blocks_.end(), [](const auto &b) { return b.region.layout->is_contiguous; })) {
    return false;
  }
  const Span all = span();
  device::Place first;
  device::Place last;
  return device::classify(all.lowest, &first).is_ok() &&
         device::classify(all.lowest + all.size_bytes - 1, &last).is_ok() && first.allocation_id != 0 &&
         first.backend == last.backend && first.allocation_id == last.allocation_id;
}

Status StagedBlocks::copy_down() const {
  if (!is_read_in_one_piece()) return copy_blocks(Direction::kDown);
  const Span all = span();
  return device::copy(place_, image_of(all.lowest), all.lowest, all.size_bytes);
}

Status StagedBlocks::copy_up() const {
  return copy_blocks(Direction::kUp);
}

Status StagedBlocks::copy_blocks(Direction direction) const {
  const bool is_down = direction == Direction::kDown;
  Pieces pieces(place_);
  const auto add = [&](std::byte *memory, std::byte *staged, std::uint64_t size_bytes) {
    return is_down ? pieces.add(staged, memory, size_bytes) : pieces.add(memory, staged, size_bytes);
  };
  for (const StagedBlock &block : blocks_) {
    if (!(is_down ? block.is_read() : block.is_written())) continue;
    const Region &region = block.region;
    if (region.layout->is_contiguous) {
      if (Status status = add(region.origin, block.staged, region.size_bytes()); !status.is_ok()) return status;
      continue;
    }
    std::byte *packed = block.staged;
    for (std::int64_t element = 0; element < region.count; ++element) {
      const std::int64_t origin = element * region.layout->extent_bytes;
      for (const Block &run : region.layout->blocks) {
        const std::int64_t offset = origin + run.offset_bytes;
        std::byte *staged = is_image_ ? at(block.staged, offset) : packed;
        if (Status status = add(at(region.origin, offset), staged, run.size_bytes); !status.is_ok()) return status;
        packed += run.size_bytes;
      }
    }
  }
  return pieces.flush();
}

}  // namespace sluice::transfer
