// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the three-dimensional transform, for every device's compiler (apps/support/kernel.hpp): between a
// rank's points as they lie in memory and the messages of a transposition.
#pragma once

#include <cstdint>

#ifndef SLUICE_PROGRAM_KERNEL
#include "apps/support/kernel.hpp"
#endif
#ifndef SLUICE_PROGRAM_FUNCTION
#define SLUICE_PROGRAM_FUNCTION inline
#endif

namespace sluice::apps::fft3d {

// A rank's points: [z][y][x] in memory, or [y][z][x]. Fewer than 2^31, so that they are counted in words of 4 bytes,
// which devices divide much faster.
struct Box {
  std::uint64_t n_x;  // points along x, y, z
  std::uint64_t n_y;
  std::uint64_t n_z;
  std::uint64_t is_y_first;  // 1: [y][z][x]
};

// How the points of a box are dealt out to messages: along `dimension`, to n_parts as evenly as can be, the longer ones
// first. In each message the points are [z][y][x].
struct Split {
  std::uint64_t dimension;  // 0 x, 1 y, 2 z
  std::uint64_t n_parts;
};

// No arrays: devices would keep one whose index is computed in memory.
struct Point {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t z;
};

// Of the item-th point of a box in memory.
SLUICE_PROGRAM_FUNCTION Point point_of(const Box &box, std::uint32_t item) {
  const std::uint32_t n_x = static_cast<std::uint32_t>(box.n_x);
  const std::uint32_t n_middle = static_cast<std::uint32_t>(box.is_y_first != 0 ? box.n_z : box.n_y);
  const std::uint32_t row = item / n_x;
  const std::uint32_t slow = row / n_middle;
  const std::uint32_t middle = row - slow * n_middle;
  const std::uint32_t x = item - row * n_x;
  return box.is_y_first != 0 ? Point{x, slow, middle} : Point{x, middle, slow};
}

// Where a point lies in a box.
SLUICE_PROGRAM_FUNCTION std::uint64_t index_of(const Box &box, const Point &point) {
  const std::uint64_t row = box.is_y_first != 0 ? point.y * box.n_z + point.z : point.z * box.n_y + point.y;
  return row * box.n_x + point.x;
}

// Where it lies among the messages, one behind the other.
SLUICE_PROGRAM_FUNCTION std::uint64_t message_index(const Box &box, const Split &split, const Point &point) {
  const bool is_x = split.dimension == 0;
  const bool is_y = split.dimension == 1;
  const std::uint64_t n = is_x ? box.n_x : is_y ? box.n_y : box.n_z;
  const std::uint32_t at = is_x ? point.x : is_y ? point.y : point.z;
  const std::uint32_t n_parts = static_cast<std::uint32_t>(split.n_parts);
  const std::uint32_t shorter = static_cast<std::uint32_t>(n) / n_parts;
  const std::uint32_t behind_longer = (static_cast<std::uint32_t>(n) - shorter * n_parts) * (shorter + 1);
  const bool is_longer = at < behind_longer;
  const std::uint32_t length = is_longer ? shorter + 1 : shorter;
  const std::uint32_t in_part = is_longer ? at % length : (at - behind_longer) % length;
  const std::uint64_t begin = at - in_part;
  if (is_x) return begin * box.n_y * box.n_z + (point.z * box.n_y + point.y) * length + in_part;
  if (is_y) return begin * box.n_x * box.n_z + (std::uint64_t{point.z} * length + in_part) * box.n_x + point.x;
  return begin * box.n_x * box.n_y + (in_part * box.n_y + point.y) * box.n_x + point.x;
}

// A point is one word of 8 bytes or two (log2_words 0 or 1), and an item one word.
struct PackTask {
  std::uint64_t *messages;
  const std::uint64_t *points;
  Box box;
  Split split;
  std::uint64_t log2_words;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(pack, PackTask) {
  const std::uint64_t index = item >> task.log2_words;
  const std::uint64_t word = item - (index << task.log2_words);
  const Point point = point_of(task.box, static_cast<std::uint32_t>(index));
  const std::uint64_t to = message_index(task.box, task.split, point);
  task.messages[(to << task.log2_words) + word] = task.points[item];
}

struct UnpackTask {
  std::uint64_t *points;
  const std::uint64_t *messages;
  Box box;
  Split split;
  std::uint64_t log2_words;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(unpack, UnpackTask) {
  const std::uint64_t index = item >> task.log2_words;
  const std::uint64_t word = item - (index << task.log2_words);
  const Point point = point_of(task.box, static_cast<std::uint32_t>(index));
  const std::uint64_t from = message_index(task.box, task.split, point);
  task.points[item] = task.messages[(from << task.log2_words) + word];
}

// The same points in the other order; `box` is what they become.
struct ReorderTask {
  std::uint64_t *points;
  const std::uint64_t *before;
  Box box;
  std::uint64_t log2_words;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(reorder, ReorderTask) {
  const std::uint64_t index = item >> task.log2_words;
  const std::uint64_t word = item - (index << task.log2_words);
  Box other = task.box;
  other.is_y_first = task.box.is_y_first != 0 ? 0 : 1;
  const std::uint64_t from = index_of(other, point_of(task.box, static_cast<std::uint32_t>(index)));
  task.points[item] = task.before[(from << task.log2_words) + word];
}

}  // namespace sluice::apps::fft3d
