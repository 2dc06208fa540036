// SPDX-License-Identifier: BSD-3-Clause
// Shape: the canonical form of a datatype's blocks: nested strides where they are regular, a compact list where they
// are not. Pure: numbers in, numbers out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sluice/backend.h"
#include "transfer/layout.hpp"

namespace sluice::transfer {

// One dimension is kept for the elements of a message.
inline constexpr std::size_t kMostShapeDimensions = SLUICE_PACK_MAX_DIMENSIONS - 1;

// The blocks of one element, in their order: those of the core, repeated along the dimensions, the last the fastest.
// Two types with the same bytes in the same order have the same shape, however they were made.
struct Shape {
  std::vector<sluice_dimension_t> dimensions;
  std::vector<Block> core;       // offsets from the first block's; that one is at 0
  std::int64_t core_offset = 0;  // of the first block, from the element's origin
  std::uint64_t core_bytes = 0;

  [[nodiscard]] bool is_regular() const noexcept { return core.size() == 1; }
};

// The shape of `blocks`, which are not empty. Time and memory in proportion to them.
[[nodiscard]] Shape shape_of(std::span<const Block> blocks);

// The list of an irregular shape's core as kernels read it (sluice_layout_t).
struct CoreList {
  std::vector<std::uint32_t> words;  // empty: its numbers need more than 32 bits
  std::uint32_t unit_bytes = 1;
  std::uint32_t block_units = 0;
  std::uint32_t tile_shift = 0;
};
[[nodiscard]] CoreList list_of(const Shape &shape);

// `count` (> 0) elements of `shape`, `extent_bytes` apart, in as few dimensions as say it; the origin is the first
// core's. The list's address stays open. False: a length overflows.
[[nodiscard]] bool describe_elements(const Shape &shape, const CoreList &list, std::uint64_t count,
                                     std::int64_t extent_bytes, sluice_layout_t *layout);

}  // namespace sluice::transfer
