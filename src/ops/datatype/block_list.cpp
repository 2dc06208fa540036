// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/block_list.hpp"

#include <algorithm>

namespace sluice::ops {

bool BlockList::append(std::int64_t offset_bytes, std::uint64_t size_bytes) {
  if (size_bytes == 0) return true;
  std::int64_t end = 0;
  if (__builtin_add_overflow(offset_bytes, size_bytes, &end) ||
      __builtin_add_overflow(size_bytes_, size_bytes, &size_bytes_)) {
    return false;
  }
  if (!blocks_.empty()) {
    transfer::Block &last = blocks_.back();
    if (last.offset_bytes + static_cast<std::int64_t>(last.size_bytes) == offset_bytes) {
      last.size_bytes += size_bytes;
      return true;
    }
  }
  if (blocks_.size() == kMostBlocks) return false;
  blocks_.push_back({offset_bytes, size_bytes});
  return true;
}

bool BlockList::append_copies(const BlockList &element, std::int64_t n_copies, std::int64_t stride_bytes,
                              std::int64_t offset_bytes) {
  if (n_copies <= 0 || element.blocks_.empty()) return true;
  const transfer::Block &first = element.blocks_.front();
  if (element.blocks_.size() == 1 &&
      (n_copies == 1 || (stride_bytes > 0 && static_cast<std::uint64_t>(stride_bytes) == first.size_bytes))) {
    std::int64_t offset = 0;
    std::uint64_t size = 0;
    return !__builtin_add_overflow(offset_bytes, first.offset_bytes, &offset) &&
           !__builtin_mul_overflow(first.size_bytes, static_cast<std::uint64_t>(n_copies), &size) &&
           append(offset, size);
  }
  // Copies merge with their neighbours at their ends only: what is too much is known before the work.
  const std::size_t n_least = std::max<std::size_t>(element.blocks_.size() - 1, 1);
  if (static_cast<std::uint64_t>(n_copies) > (kMostBlocks - blocks_.size()) / n_least + 1) return false;
  std::int64_t origin = offset_bytes;
  for (std::int64_t k = 0; k < n_copies; ++k) {
    for (const transfer::Block &block : element.blocks_) {
      std::int64_t offset = 0;
      if (__builtin_add_overflow(origin, block.offset_bytes, &offset) || !append(offset, block.size_bytes))
        return false;
    }
    if (__builtin_add_overflow(origin, stride_bytes, &origin) && k + 1 < n_copies) return false;
  }
  return true;
}

}  // namespace sluice::ops
