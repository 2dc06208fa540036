// SPDX-License-Identifier: BSD-3-Clause
// The kernels of Faces, for every device's compiler (apps/support/kernel.hpp).
//
// A block is a box of spectral elements, each a cube of n points a side; elements that touch share the points of a
// face, an edge or a corner, and each holds a copy of its own. The field is [element z][y][x][point z][y][x]. The
// lattice of a block has every point once: side d has n_elements[d] * (n - 1) + 1 of them.
#pragma once

#include <cstdint>

#ifndef SLUICE_PROGRAM_KERNEL
#include "apps/support/kernel.hpp"
#endif
#ifndef SLUICE_PROGRAM_FUNCTION
#define SLUICE_PROGRAM_FUNCTION inline
#endif

namespace sluice::apps::faces {

// What the kernels know of a block.
struct Block {
  std::uint64_t n_points;        // along the side of an element, at least 2
  std::uint64_t n_elements[3];   // along x, y, z, at least 1
  std::uint64_t neighbour_mask;  // bit k: there is a neighbour in direction k, 0 to 26
};

struct Point {
  std::uint64_t at[3];
};

constexpr unsigned kDirections = 27;  // the 13th is the block itself

// -1, 0 or 1 along x, y, z.
SLUICE_PROGRAM_FUNCTION int step_of(unsigned direction, int dimension) {
  const unsigned divisor = dimension == 0 ? 1 : dimension == 1 ? 3 : 9;
  return static_cast<int>(direction / divisor % 3) - 1;
}

SLUICE_PROGRAM_FUNCTION std::uint64_t side_of(const Block &block, int dimension) {
  return block.n_elements[dimension] * (block.n_points - 1) + 1;
}

// How many lattice points lie on the face, edge or corner in a direction: what the message that way holds.
SLUICE_PROGRAM_FUNCTION std::uint64_t message_size(const Block &block, unsigned direction) {
  std::uint64_t size = 1;
  for (int d = 0; d < 3; ++d) size *= step_of(direction, d) == 0 ? side_of(block, d) : 1;
  return size;
}

// How many copies of a point lie along one dimension (1 or 2), and the k-th one's element and place in it.
SLUICE_PROGRAM_FUNCTION std::uint64_t copies_along(const Block &block, int d, std::uint64_t at) {
  return at % (block.n_points - 1) == 0 && at > 0 && at + 1 < side_of(block, d) ? 2 : 1;
}
SLUICE_PROGRAM_FUNCTION void copy_along(const Block &block, int d, std::uint64_t at, std::uint64_t k,
                                        std::uint64_t *element, std::uint64_t *place) {
  const std::uint64_t pitch = block.n_points - 1;
  *element = at / pitch;
  if (*element == block.n_elements[d] || (copies_along(block, d, at) == 2 && k == 0)) --*element;
  *place = at - *element * pitch;
}

// Calls visit(index into the field) for each copy of a point in this block, always in the same order.
template <class Visit>
SLUICE_PROGRAM_FUNCTION void for_each_copy(const Block &block, const Point &point, const Visit &visit) {
  std::uint64_t element[3];
  std::uint64_t place[3];
  for (std::uint64_t z = 0; z < copies_along(block, 2, point.at[2]); ++z) {
    copy_along(block, 2, point.at[2], z, &element[2], &place[2]);
    for (std::uint64_t y = 0; y < copies_along(block, 1, point.at[1]); ++y) {
      copy_along(block, 1, point.at[1], y, &element[1], &place[1]);
      for (std::uint64_t x = 0; x < copies_along(block, 0, point.at[0]); ++x) {
        copy_along(block, 0, point.at[0], x, &element[0], &place[0]);
        const std::uint64_t n = block.n_points;
        const std::uint64_t index = (element[2] * block.n_elements[1] + element[1]) * block.n_elements[0] + element[0];
        visit(((index * n + place[2]) * n + place[1]) * n + place[0]);
      }
    }
  }
}

SLUICE_PROGRAM_FUNCTION double sum_of_copies(const Block &block, const double *field, const Point &point) {
  double sum = 0;
  for_each_copy(block, point, [&](std::uint64_t i) { sum += field[i]; });
  return sum;
}

SLUICE_PROGRAM_FUNCTION void set_copies(const Block &block, double *field, const Point &point, double value) {
  for_each_copy(block, point, [&](std::uint64_t i) { field[i] = value; });
}

// ---- 1. copies faces, edges and corners of the surface into the messages: an item for each of their points ----

struct PackTask {
  double *messages;  // one behind the other, in the order of their directions; only those that are sent
  const double *field;
  Block block;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(pack, PackTask) {
  const Block &block = task.block;
  std::uint64_t rest = item;
  unsigned direction = 0;
  for (;; ++direction) {
    if ((block.neighbour_mask >> direction & 1) == 0) continue;
    const std::uint64_t size = message_size(block, direction);
    if (rest < size) break;
    rest -= size;
  }
  Point point;
  for (int d = 0; d < 3; ++d) {
    const int step = step_of(direction, d);
    const std::uint64_t side = side_of(block, d);
    point.at[d] = step < 0 ? 0 : step > 0 ? side - 1 : rest % side;
    if (step == 0) rest /= side;
  }
  task.messages[item] = sum_of_copies(block, task.field, point);
}

// ---- 2. sums the points that only elements inside the block share: an item for each lattice point inside ----

struct SumTask {
  double *field;
  Block block;
  static constexpr unsigned kMemory = 1;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(sum_inside, SumTask) {
  const std::uint64_t n_x = side_of(task.block, 0) - 2;
  const std::uint64_t n_y = side_of(task.block, 1) - 2;
  const Point point = {{item % n_x + 1, item / n_x % n_y + 1, item / (n_x * n_y) + 1}};
  set_copies(task.block, task.field, point, sum_of_copies(task.block, task.field, point));
}

// ---- 3. adds what the neighbours sent, and sums, on the surface: an item for each lattice point there ----

SLUICE_PROGRAM_FUNCTION Point surface_point(const Block &block, std::uint64_t item) {
  const std::uint64_t n_x = side_of(block, 0);
  const std::uint64_t n_y = side_of(block, 1);
  const std::uint64_t n_z = side_of(block, 2);
  if (item < 2 * n_x * n_y) return {{item % n_x, item / n_x % n_y, item < n_x * n_y ? 0 : n_z - 1}};
  const std::uint64_t ring = 2 * n_x + 2 * (n_y - 2);
  std::uint64_t rest = item - 2 * n_x * n_y;
  const std::uint64_t z = rest / ring + 1;
  rest %= ring;
  if (rest < 2 * n_x) return {{rest % n_x, rest < n_x ? 0 : n_y - 1, z}};
  rest -= 2 * n_x;
  return {{rest % 2 == 0 ? 0 : n_x - 1, rest / 2 + 1, z}};
}

struct AddTask {
  double *field;
  const double *received;  // as PackTask::messages, each from the direction of its place
  Block block;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(add_received, AddTask) {
  const Block &block = task.block;
  const Point point = surface_point(block, item);
  double sum = sum_of_copies(block, task.field, point);
  const double *message = task.received;
  for (unsigned direction = 0; direction < kDirections; ++direction) {
    if ((block.neighbour_mask >> direction & 1) == 0) continue;
    bool is_shared = true;
    std::uint64_t place = 0;
    std::uint64_t stride = 1;
    for (int d = 0; d < 3; ++d) {
      const int step = step_of(direction, d);
      const std::uint64_t side = side_of(block, d);
      is_shared = is_shared && (step == 0 || point.at[d] == (step < 0 ? 0 : side - 1));
      if (step == 0) {
        place += point.at[d] * stride;
        stride *= side;
      }
    }
    if (is_shared) sum += message[place];
    message += message_size(block, direction);
  }
  set_copies(block, task.field, point, sum);
}

}  // namespace sluice::apps::faces
