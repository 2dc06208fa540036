// SPDX-License-Identifier: BSD-3-Clause
// Blocks: how a message is cut for the pipeline (CCGrid'23, section IV and listing 1). Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.hpp"

namespace sluice::transfer {

// The cut of one message: the first block, then blocks of `middle_bytes`, then the rest. Part of the descriptor, so
// plain numbers; is_sound() before it is believed.
struct BlockPlan {
  std::uint64_t size_bytes = 0;    // of the whole message
  std::uint64_t first_bytes = 0;   // of the first block
  std::uint64_t middle_bytes = 0;  // of each block between the first and the last
  std::uint32_t n_blocks = 0;

  // Where block `block` < n_blocks of a sound plan begins in the message, and how long it is.
  [[nodiscard]] constexpr std::uint64_t offset_bytes(std::uint32_t block) const noexcept {
    return block == 0 ? 0 : first_bytes + (block - 1) * middle_bytes;
  }
  [[nodiscard]] constexpr std::uint64_t block_bytes(std::uint32_t block) const noexcept {
    const std::uint64_t end = block + 1 == n_blocks ? size_bytes : offset_bytes(block + 1);
    return end - offset_bytes(block);
  }
  // The size of the largest block: what a slot has to hold.
  [[nodiscard]] constexpr std::uint64_t largest_bytes() const noexcept {
    const std::uint64_t ends = std::max(block_bytes(0), block_bytes(n_blocks - 1));
    return n_blocks > 2 ? std::max(ends, middle_bytes) : ends;
  }
  // Every block has bytes, and they add up: what a plan from elsewhere must be.
  [[nodiscard]] constexpr bool is_sound() const noexcept {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
    if (n_blocks == 0 || size_bytes == 0 || size_bytes > kMostBytes) return false;
    if (n_blocks == 1) return true;
    if (first_bytes == 0 || first_bytes >= size_bytes) return false;
    if (n_blocks == 2) return true;
    return middle_bytes != 0 && middle_bytes <= (size_bytes - first_bytes - 1) / (n_blocks - 2);
  }
  // How many blocks hold the first `bytes` bytes of the message.
  [[nodiscard]] constexpr std::uint32_t blocks_of(std::uint64_t bytes) const noexcept {
    if (bytes == 0) return 0;
    if (n_blocks == 1 || bytes <= first_bytes) return 1;
    if (n_blocks == 2) return 2;
    const std::uint64_t behind_first = (bytes - first_bytes + middle_bytes - 1) / middle_bytes;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(behind_first + 1, n_blocks));
  }
};

// `auto` aims at blocks of this size: small enough that the copy down of the first and the copy up of the last, which
// nothing overlaps, cost little; large enough that a block's fixed costs do (docs/measurements).
inline constexpr std::uint64_t kAutoBlockBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kAutoSmallestBlockBytes = std::uint64_t{64} << 10;

// The cut of `size_bytes` (> 0) into about `n_blocks` (> 0; not used by kNone and kAuto). A message too short for that
// many blocks gets fewer.
[[nodiscard]] constexpr BlockPlan cut(Pipeline pipeline, std::uint64_t size_bytes, std::uint32_t n_blocks) noexcept {
  const BlockPlan whole{size_bytes, size_bytes, size_bytes, 1};
  if (pipeline == Pipeline::kNone) return whole;
  if (pipeline == Pipeline::kAuto) {
    const std::uint64_t block = std::clamp(size_bytes / 4, kAutoSmallestBlockBytes, kAutoBlockBytes);
    n_blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(size_bytes / block, 1, 1U << 20));
    pipeline = Pipeline::kAdvanced;
  }
  const std::uint64_t block = size_bytes / n_blocks;
  // Halves of blocks must have bytes too.
  if (n_blocks < 2 || block < 2) return whole;
  // Listing 1: the first block is half as long, so that the last stage begins early; the last one carries the rest.
  const std::uint64_t first = pipeline == Pipeline::kAdvanced ? block / 2 : block;
  return {size_bytes, first, block, n_blocks};
}

}  // namespace sluice::transfer
