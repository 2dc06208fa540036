// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/shape.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace sluice::transfer {
namespace {

std::uint64_t step_after(std::span<const Block> blocks, std::size_t i) noexcept {
  return static_cast<std::uint64_t>(blocks[i + 1].offset_bytes) - static_cast<std::uint64_t>(blocks[i].offset_bytes);
}

// A block and the way to the next one.
bool is_same_step(std::span<const Block> blocks, std::size_t a, std::size_t b) noexcept {
  return blocks[a].size_bytes == blocks[b].size_bytes && step_after(blocks, a) == step_after(blocks, b);
}

// The smallest number of blocks of which the whole row is a repetition at one distance; all of them when there is none
// smaller. By the borders of the row of steps (Knuth, Morris and Pratt, "Fast pattern matching in strings", 1977).
std::size_t period_of(std::span<const Block> blocks) {
  const std::size_t n = blocks.size();
  if (n < 2) return n;
  const std::size_t n_steps = n - 1;
  std::vector<std::uint32_t> borders(n_steps, 0);
  for (std::size_t i = 1; i < n_steps; ++i) {
    std::size_t k = borders[i - 1];
    while (k > 0 && !is_same_step(blocks, i, k)) k = borders[k - 1];
    borders[i] = static_cast<std::uint32_t>(is_same_step(blocks, i, k) ? k + 1 : 0);
  }
  for (std::size_t border = borders[n_steps - 1];; border = borders[border - 1]) {
    const std::size_t period = n_steps - border;
    if (n % period == 0 && blocks[n - 1].size_bytes == blocks[n - 1 - period].size_bytes) return period;
    if (border == 0) return n;
  }
}

}  // namespace

Shape shape_of(std::span<const Block> blocks) {
  Shape shape;
  while (blocks.size() > 1 && shape.dimensions.size() < kMostShapeDimensions) {
    const std::size_t period = period_of(blocks);
    if (period == blocks.size()) break;
    shape.dimensions.push_back({blocks.size() / period, blocks[period].offset_bytes - blocks.front().offset_bytes});
    blocks = blocks.first(period);
  }
  shape.core_offset = blocks.front().offset_bytes;
  shape.core.assign(blocks.begin(), blocks.end());
  for (Block &block : shape.core) {
    block.offset_bytes -= shape.core_offset;
    shape.core_bytes += block.size_bytes;
  }
  return shape;
}

CoreList list_of(const Shape &shape) {
  CoreList list;
  if (shape.is_regular()) return list;
  std::uint64_t all = 16;
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool is_uniform = true;
  for (const Block &block : shape.core) {
    all |= static_cast<std::uint64_t>(block.offset_bytes) | block.size_bytes;
    low = std::min(low, block.offset_bytes);
    high = std::max(high, block.offset_bytes);
    is_uniform = is_uniform && block.size_bytes == shape.core.front().size_bytes;
  }
  const auto shift = static_cast<unsigned>(std::countr_zero(all));
  list.unit_bytes = 1U << shift;
  const std::uint64_t units = shape.core_bytes >> shift;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::uint64_t n_blocks = shape.core.size();
  if ((high >> shift) > kMost || (low >> shift) < -kMost || units > std::numeric_limits<std::uint32_t>::max() ||
      n_blocks > static_cast<std::uint64_t>(kMost)) {
    return list;
  }
  list.words.reserve(n_blocks * 3 + 4);
  for (const Block &block : shape.core) list.words.push_back(static_cast<std::uint32_t>(block.offset_bytes >> shift));
  if (is_uniform) {
    list.block_units = static_cast<std::uint32_t>(shape.core.front().size_bytes >> shift);
    return list;
  }
  std::vector<std::uint32_t> begins;
  begins.reserve(n_blocks + 1);
  std::uint64_t position = 0;
  for (const Block &block : shape.core) {
    begins.push_back(static_cast<std::uint32_t>(position));
    position += block.size_bytes >> shift;
  }
  begins.push_back(static_cast<std::uint32_t>(position));
  list.words.insert(list.words.end(), begins.begin(), begins.end());
  // About two blocks in a tile: a search takes a step or two.
  list.tile_shift = static_cast<std::uint32_t>(std::bit_width(units / n_blocks));
  std::uint32_t block = 0;
  for (std::uint64_t first = 0; first < units; first += std::uint64_t{1} << list.tile_shift) {
    while (begins[block + 1] <= first) ++block;
    list.words.push_back(block);
  }
  list.words.push_back(static_cast<std::uint32_t>(n_blocks - 1));
  return list;
}

bool describe_elements(const Shape &shape, const CoreList &list, std::uint64_t count, std::int64_t extent_bytes,
                       sluice_layout_t *layout) {
  *layout = {};
  std::vector<sluice_dimension_t> dimensions;
  if (count > 1) dimensions.push_back({count, extent_bytes});
  dimensions.insert(dimensions.end(), shape.dimensions.begin(), shape.dimensions.end());
  // A dimension that goes on where the one inside it ends is the same dimension.
  for (std::size_t d = dimensions.size(); d-- > 1;) {
    sluice_dimension_t &outer = dimensions[d - 1];
    const sluice_dimension_t &inner = dimensions[d];
    std::int64_t inner_bytes = 0;
    if (__builtin_mul_overflow(inner.count, inner.stride_bytes, &inner_bytes) || inner_bytes != outer.stride_bytes) {
      continue;
    }
    if (__builtin_mul_overflow(outer.count, inner.count, &outer.count)) return false;
    outer.stride_bytes = inner.stride_bytes;
    dimensions.erase(dimensions.begin() + static_cast<std::ptrdiff_t>(d));
  }
  layout->core_bytes = shape.core_bytes;
  while (shape.is_regular() && !dimensions.empty() && dimensions.back().stride_bytes > 0 &&
         static_cast<std::uint64_t>(dimensions.back().stride_bytes) == layout->core_bytes) {
    if (__builtin_mul_overflow(layout->core_bytes, dimensions.back().count, &layout->core_bytes)) return false;
    dimensions.pop_back();
  }
  std::copy(dimensions.begin(), dimensions.end(), layout->dimensions);
  layout->n_dimensions = static_cast<std::uint32_t>(dimensions.size());
  if (shape.is_regular()) return true;
  layout->n_blocks = static_cast<std::uint32_t>(shape.core.size());
  layout->list_bytes = list.words.size() * sizeof(std::uint32_t);
  layout->list_unit_bytes = list.unit_bytes;
  layout->block_units = list.block_units;
  layout->tile_shift = list.tile_shift;
  return true;
}

}  // namespace sluice::transfer
