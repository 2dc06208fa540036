// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/copy.hpp"

namespace sluice::transfer {
namespace {

std::byte *at(std::byte *origin, std::int64_t offset) noexcept {
  // MPI_BOTTOM is a null pointer, to which the language allows nothing to be added.
  return reinterpret_cast<std::byte *>(reinterpret_cast<std::intptr_t>(origin) + offset);
}

}  // namespace

Status Staged::open(const Region &region, StagingMemory memory) {
  if (region.place.kind == MemoryKind::kFreed) {
    return Status::error(
        ErrorKind::kBadBuffer,
        fmt::format("the buffer at {} was device memory of {} and has been freed; keep it allocated until "
                    "the operation is complete",
                    static_cast<const void *>(region.origin), region.place.backend->name()));
  }
  region_ = region;
  return device::StagingPool::process().acquire({region.place.backend, region.place.device, memory},
                                                region.size_bytes(), &lease_);
}

Status Staged::copy_down() const {
  return copy(Direction::kDown, region_.size_bytes());
}

Status Staged::copy_up(std::uint64_t size_bytes) const {
  return copy(Direction::kUp, size_bytes);
}

Status Staged::copy(Direction direction, std::uint64_t size_bytes) const {
  size_bytes = std::min(size_bytes, region_.size_bytes());
  if (!region_.layout->is_contiguous) return copy_blocks(direction, size_bytes);
  return direction == Direction::kDown ? device::copy(region_.place, lease_.data(), region_.origin, size_bytes)
                                       : device::copy(region_.place, region_.origin, lease_.data(), size_bytes);
}

Status Staged::copy_blocks(Direction direction, std::uint64_t size_bytes) const {
  // A bounded batch: a large message of small blocks must not need a list as large as itself.
  constexpr std::size_t kBatch = 4096;
  std::vector<sluice_copy_t> pieces;
  pieces.reserve(
      std::min<std::size_t>(kBatch, region_.layout->blocks.size() * static_cast<std::size_t>(region_.count)));
  std::byte *staged = lease_.data();
  std::uint64_t left = size_bytes;
  for (std::int64_t element = 0; element < region_.count && left > 0; ++element) {
    const std::int64_t origin = element * region_.layout->extent_bytes;
    for (const Block &block : region_.layout->blocks) {
      const std::uint64_t size = std::min(left, block.size_bytes);
      if (size == 0) break;
      std::byte *memory = at(region_.origin, origin + block.offset_bytes);
      if (direction == Direction::kDown) {
        pieces.push_back({staged, memory, size});
      } else {
        pieces.push_back({memory, staged, size});
      }
      staged += size;
      left -= size;
      if (pieces.size() == kBatch) {
        if (Status status = device::copy(region_.place, pieces); !status.is_ok()) return status;
        pieces.clear();
      }
    }
  }
  return device::copy(region_.place, pieces);
}

}  // namespace sluice::transfer
