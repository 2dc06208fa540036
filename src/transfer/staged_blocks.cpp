// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staged_blocks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "device/copy.hpp"
#include "transfer/packing.hpp"
#include "transfer/pieces.hpp"
#include "transfer/scratch_packing.hpp"

namespace sluice::transfer {
namespace {

// An image begins at the same place of a line as the program's buffer, so that what is aligned there is aligned here.
constexpr std::uint64_t kLineBytes = 64;

bool comes_down(const StagedBlock &block, Down down) noexcept {
  if (block.is_read()) return down != Down::kWritten;
  return block.is_written() && down != Down::kRead;
}

std::intptr_t number_of(const std::byte *address) noexcept {
  return reinterpret_cast<std::intptr_t>(address);
}

}  // namespace

void StagedBlocks::set(const device::Place &place, std::vector<StagedBlock> blocks, bool is_absolute) noexcept {
  place_ = place;
  is_absolute_ = is_absolute;
  blocks_ = std::move(blocks);
}

Span StagedBlocks::span_of(bool only_accessed) const noexcept {
  std::intptr_t low = std::numeric_limits<std::intptr_t>::max();
  std::intptr_t high = std::numeric_limits<std::intptr_t>::min();
  for (const StagedBlock &block : blocks_) {
    if (only_accessed && block.access == Access::kNone) continue;
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
  if (low > high || __builtin_sub_overflow(high, low, &size)) return {};
  return {at(nullptr, low), static_cast<std::uint64_t>(size)};
}

bool StagedBlocks::is_any_read() const noexcept {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const StagedBlock &block) { return block.is_read(); });
}

Status StagedBlocks::refuse_past_the_end() const {
  const Span all = span_of(true);
  return is_absolute_ || all.size_bytes == 0 ? Status() : transfer::refuse_past_the_end(all.lowest, all.size_bytes);
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
  const std::byte *origin = blocks_.empty() ? nullptr : blocks_.front().region.origin;
  if (Status status = refuse_freed(place_, origin); !status.is_ok()) return status;
  if (size_bytes == 0 || size_bytes > std::numeric_limits<std::uint64_t>::max() / 2) {
    return Status::error(ErrorKind::kOutOfMemory,
                         "the buffer of a collective operation reaches over more memory than can be staged; use types "
                         "and displacements that lie in one allocation");
  }
  return device::StagingPool::process().acquire({place_.backend, place_.device, memory}, size_bytes, &lease_);
}

Status StagedBlocks::open_image(StagingMemory memory, const Span &reach) {
  const std::uint64_t shift = static_cast<std::uint64_t>(number_of(reach.lowest)) % kLineBytes;
  const std::uint64_t needed = reach.size_bytes == 0 ? 0 : reach.size_bytes + shift;
  if (Status status = acquire(memory, needed); !status.is_ok()) return status;
  is_image_ = true;
  image_distance_ = number_of(lease_.data()) + static_cast<std::int64_t>(shift) - number_of(reach.lowest);
  for (StagedBlock &block : blocks_) block.staged = image_of(block.region.origin);
  return {};
}

void StagedBlocks::share_image(const StagedBlocks &other) noexcept {
  is_image_ = true;
  image_distance_ = other.image_distance_;
  for (StagedBlock &block : blocks_) block.staged = image_of(block.region.origin);
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

// Gaps are read with the rest where many small copies are saved by it. What is in them goes nowhere.
bool StagedBlocks::may_read_gaps(Down down) const noexcept {
  return is_image_ &&
         std::all_of(blocks_.begin(), blocks_.end(), [down](const auto &b) { return comes_down(b, down); }) &&
         !std::all_of(blocks_.begin(), blocks_.end(), [](const auto &b) { return b.region.layout->is_contiguous; });
}

Status StagedBlocks::copy_down(Down down) const {
  const auto is_moved = [down](const StagedBlock &block) { return comes_down(block, down); };
  if (!may_read_gaps(down)) return copy_blocks(true, is_moved);
  const Span all = span();
  bool is_one_allocation = false;
  if (Status status = lies_in_one_allocation(all.lowest, all.size_bytes, &is_one_allocation); !status.is_ok()) {
    return status;
  }
  if (!is_one_allocation) return copy_blocks(true, is_moved);
  return device::copy(place_, image_of(all.lowest), all.lowest, all.size_bytes);
}

Status StagedBlocks::copy_up() const {
  return copy_blocks(false, [](const StagedBlock &block) { return block.is_written(); });
}

template <typename IsMoved>
Status StagedBlocks::copy_blocks(bool is_down, IsMoved is_moved) const {
  Packer packer;
  Pieces pieces(place_);
  for (const StagedBlock &block : blocks_) {
    if (!is_moved(block)) continue;
    const Region &region = block.region;
    Status status;
    if (Packer::is_for(region)) {
      const sluice_pack_direction_t way = is_down ? SLUICE_PACK : SLUICE_UNPACK;
      const sluice_pack_form_t form = is_image_ ? SLUICE_IMAGE : SLUICE_PACKED;
      std::byte *const beside = is_image_ ? image_of(region.origin) : block.staged;
      bool is_refused = false;
      status = packer.add(way, form, region, 0, region.size_bytes(), beside, &is_refused);
      if (status.is_ok() && is_refused) {
        status = move_by_scratch(way, form, region, region.size_bytes(), beside, &is_refused);
      }
      if (!status.is_ok()) return status;
      if (!is_refused) continue;
    }
    const auto add = [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
      std::byte *const staged = is_image_ ? image_of(memory) : block.staged + position;
      return is_down ? pieces.add(staged, memory, bytes) : pieces.add(memory, staged, bytes);
    };
    status = for_each_piece(region, region.size_bytes(), is_absolute_, &pieces, add);
    if (!status.is_ok()) return status;
  }
  if (Status status = pieces.flush(); !status.is_ok()) return status;
  return packer.wait();
}

}  // namespace sluice::transfer
