// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staged.hpp"

#include <algorithm>

#include "device/copy.hpp"
#include "transfer/packing.hpp"
#include "transfer/pieces.hpp"
#include "transfer/scratch_packing.hpp"

namespace sluice::transfer {

Status Staged::open(const Region &region, StagingMemory memory, std::uint64_t least_bytes, StagingRoom room) {
  is_image_ = false;
  return acquire(region, memory, std::max(region.size_bytes(), least_bytes), room);
}

Status Staged::open_image(const Region &region, StagingMemory memory) {
  is_image_ = true;
  return acquire(region, memory, region.span_bytes(), StagingRoom::kPool);
}

Status Staged::acquire(const Region &region, StagingMemory memory, std::uint64_t size_bytes, StagingRoom room) {
  if (Status status = refuse_freed(region.place, region.origin); !status.is_ok()) return status;
  region_ = region;
  if (!untouched_.is_empty()) untouched_ = device::UntouchedMemory();
  const device::StagingSource source{region.place.backend, region.place.device, memory};
  if (room == StagingRoom::kSpare) device::StagingPool::process().acquire_spare(source, size_bytes, &lease_);
  if (room == StagingRoom::kSpare && !lease_.is_empty()) return {};
  if (room != StagingRoom::kPool && device::UntouchedMemory::acquire(size_bytes, &untouched_).is_ok()) return {};
  return device::StagingPool::process().acquire(source, size_bytes, &lease_);
}

std::byte *Staged::image_origin() const noexcept {
  return at(data(), -region_.first_byte());
}

Status Staged::copy_down() const {
  if (is_image_) return copy_image_down();
  return copy(Direction::kDown, region_, data(), region_.size_bytes());
}

Status Staged::copy_up(std::uint64_t size_bytes) const {
  return copy(Direction::kUp, region_, data(), std::min(size_bytes, region_.size_bytes()));
}

Status Staged::copy_elements_down(std::int64_t first, std::int64_t count) const {
  return copy_elements(Direction::kDown, first, count);
}

Status Staged::copy_elements_up(std::int64_t first, std::int64_t count) const {
  return copy_elements(Direction::kUp, first, count);
}

Status Staged::copy_elements(Direction direction, std::int64_t first, std::int64_t count) const {
  const Layout &layout = *region_.layout;
  const Region part = {at(region_.origin, first * layout.extent_bytes),
                       count,
                       region_.layout,
                       region_.place,
                       region_.pack,
                       region_.is_one_copy};
  std::byte *staged = data() + static_cast<std::uint64_t>(first) * layout.size_bytes;
  return copy(direction, part, staged, part.size_bytes());
}

Status Staged::copy(Direction direction, const Region &part, std::byte *staged, std::uint64_t size_bytes) const {
  if (!part.layout->is_contiguous) return copy_blocks(direction, part, staged, size_bytes);
  return direction == Direction::kDown ? device::copy(part.place, staged, part.origin, size_bytes)
                                       : device::copy(part.place, part.origin, staged, size_bytes);
}

Status Staged::copy_image_down() const {
  if (!region_.is_one_copy) return copy_blocks(Direction::kDown, region_, data(), region_.size_bytes());
  std::byte *lowest = at(region_.origin, region_.first_byte());
  const std::uint64_t span = region_.span_bytes();
  bool is_one_allocation = false;
  if (Status status = lies_in_one_allocation(lowest, span, &is_one_allocation); !status.is_ok()) return status;
  // What is in the gaps is sent nowhere.
  if (is_one_allocation) return device::copy(region_.place, data(), lowest, span);
  return copy_blocks(Direction::kDown, region_, data(), region_.size_bytes());
}

Status Staged::copy_blocks(Direction direction, const Region &part, std::byte *staged, std::uint64_t size_bytes) const {
  if (Packer::is_for(part)) {
    bool is_done = false;
    Status status = copy_by_kernel(direction, part, staged, size_bytes, &is_done);
    if (!status.is_ok() || is_done) return status;
  }
  Pieces pieces(part.place);
  const auto add = [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    std::byte *beside = is_image_ ? at(image_origin(), memory - part.origin) : staged + position;
    return direction == Direction::kDown ? pieces.add(beside, memory, bytes) : pieces.add(memory, beside, bytes);
  };
  Status status = for_each_piece(part, size_bytes, region_.origin == nullptr, &pieces, add);
  return status.is_ok() ? pieces.flush() : status;
}

Status Staged::copy_by_kernel(Direction direction, const Region &part, std::byte *staged, std::uint64_t size_bytes,
                              bool *is_done) const {
  const sluice_pack_direction_t way = direction == Direction::kDown ? SLUICE_PACK : SLUICE_UNPACK;
  const sluice_pack_form_t form = is_image_ ? SLUICE_IMAGE : SLUICE_PACKED;
  const std::uint64_t all = std::min(size_bytes, part.size_bytes());
  std::byte *const beside = is_image_ ? image_origin() : staged;
  Packer packer;
  bool is_refused = false;
  Status status = packer.add(way, form, part, 0, all, beside, &is_refused);
  if (status.is_ok()) status = packer.wait();
  if (status.is_ok() && is_refused) status = move_by_scratch(way, form, part, all, beside, &is_refused);
  *is_done = status.is_ok() && !is_refused;
  return status;
}

}  // namespace sluice::transfer
