// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/cut_blocks.hpp"

#include <cstring>
#include <functional>
#include <limits>
#include <utility>

namespace sluice::transfer {
namespace {

constexpr std::uint64_t kMostInt = std::numeric_limits<int>::max();

// The staging memory of one segment: no segment takes more than the first. False: more than can be told.
bool find_staged_bytes(const CutShape &shape, std::uint64_t *bytes) noexcept {
  *bytes = 0;
  for (const CutBlock &block : shape.blocks) {
    if (__builtin_add_overflow(*bytes, block.part(0).size_bytes, bytes)) return false;
  }
  return !shape.is_laid_out || *bytes <= kMostInt;
}

}  // namespace

CutShape CutShape::of_equal(std::byte *begin, const device::Place &place, std::uint64_t n_blocks,
                            std::uint64_t block_bytes, std::uint64_t part_bytes) {
  CutShape shape;
  shape.place = place;
  shape.blocks.reserve(n_blocks);
  for (std::uint64_t i = 0; i < n_blocks; ++i) {
    shape.blocks.push_back({begin + i * block_bytes, block_bytes, part_bytes});
  }
  return shape;
}

bool CutBlocks::find_direct() noexcept {
  if (shape_.place.backend != nullptr || shape_.is_kept_apart) return false;
  if (shape_.blocks.size() == 1) return true;
  if (!shape_.is_laid_out) return false;
  std::byte *end = nullptr;
  for (const CutBlock &block : shape_.blocks) {
    if (block.size_bytes == 0) continue;
    if (origin_ == nullptr || std::less<>()(block.begin, origin_)) origin_ = block.begin;
    if (end == nullptr || std::less<>()(end, block.begin + block.size_bytes)) end = block.begin + block.size_bytes;
  }
  return origin_ == nullptr || static_cast<std::uint64_t>(end - origin_) <= kMostInt;
}

Status CutBlocks::open(CutShape shape, StagingMemory memory) {
  shape_ = std::move(shape);
  const std::size_t n_blocks = shape_.blocks.size();
  if (n_blocks == 0) return {};
  if (shape_.is_laid_out) {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      sizes_[slot].assign(n_blocks, 0);
      places_[slot].assign(n_blocks, 0);
    }
  }
  is_direct_ = find_direct();
  std::uint64_t bytes = 0;
  if (!find_staged_bytes(shape_, &bytes)) {
    return Status::error(ErrorKind::kOutOfMemory,
                         "a segment of a collective operation is more than memory can hold; lower coll_segment");
  }
  if (is_direct_ || bytes == 0) return {};
  pieces_.reserve(n_blocks);
  if (shape_.place.backend != nullptr) {
    if (Status status = queue_.acquire(shape_.place); !status.is_ok()) return status;
  }
  const device::StagingSource source{shape_.place.backend, shape_.place.device, memory};
  for (device::StagingLease &lease : leases_) {
    if (Status status = device::StagingPool::process().acquire(source, bytes, &lease); !status.is_ok()) return status;
  }
  return {};
}

std::byte *CutBlocks::data(std::size_t slot, std::uint64_t segment) const noexcept {
  if (shape_.blocks.empty()) return nullptr;
  if (!is_direct_) return leases_[slot].data();
  return shape_.blocks.size() == 1 ? shape_.blocks[0].begin + shape_.blocks[0].part(segment).offset_bytes : origin_;
}

void CutBlocks::lay_out(std::size_t slot, std::uint64_t segment) noexcept {
  const bool counts_from_origin = is_direct_ && shape_.blocks.size() > 1;
  std::uint64_t position = 0;
  for (std::size_t i = 0; i < shape_.blocks.size(); ++i) {
    const CutBlock &block = shape_.blocks[i];
    const CutPart part = block.part(segment);
    sizes_[slot][i] = static_cast<int>(part.size_bytes);
    if (!counts_from_origin) {
      places_[slot][i] = static_cast<int>(position);
    } else if (part.size_bytes != 0) {
      places_[slot][i] = static_cast<int>(block.begin + part.offset_bytes - origin_);
    } else {
      places_[slot][i] = 0;
    }
    position += part.size_bytes;
  }
}

std::uint64_t CutBlocks::size_bytes(std::uint64_t segment) const noexcept {
  std::uint64_t bytes = 0;
  for (const CutBlock &block : shape_.blocks) bytes += block.part(segment).size_bytes;
  return bytes;
}

Status CutBlocks::begin(std::size_t slot, std::uint64_t segment, bool is_down) {
  if (is_direct_) return {};
  pieces_.clear();
  std::byte *staged = leases_[slot].data();
  for (std::size_t i = 0; i < shape_.blocks.size(); ++i) {
    const CutPart part = shape_.blocks[i].part(segment);
    if (part.size_bytes == 0) continue;
    std::byte *const memory = shape_.blocks[i].begin + part.offset_bytes;
    if (static_cast<std::int64_t>(i) != shape_.skipped) {
      pieces_.push_back({is_down ? staged : memory, is_down ? memory : staged, part.size_bytes});
    }
    staged += part.size_bytes;
  }
  if (pieces_.empty()) return {};
  if (shape_.place.backend != nullptr) return copies_[slot].begin(&queue_, pieces_);
  for (const sluice_copy_t &piece : pieces_) std::memcpy(piece.dst, piece.src, piece.size_bytes);
  return {};
}

}  // namespace sluice::transfer
