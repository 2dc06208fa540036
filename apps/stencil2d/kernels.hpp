// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the nine-point stencil in two dimensions, for every device's compiler (apps/support/kernel.hpp).
//
// A rank's field is [y][x] with one layer of halo around it. Direction k goes k % 3 - 1 along x and k / 3 - 1 along y;
// the fourth is the field itself.
#pragma once

#include <cstdint>

#ifndef SLUICE_PROGRAM_KERNEL
#include "apps/support/kernel.hpp"
#endif
#ifndef SLUICE_PROGRAM_FUNCTION
#define SLUICE_PROGRAM_FUNCTION inline
#endif

namespace sluice::apps::stencil2d {

constexpr unsigned kDirections = 9;

struct Field {
  std::uint64_t n[2];            // points along x and y, without the halo; at least 1
  std::uint64_t neighbour_mask;  // bit k: there is a neighbour in direction k
};

// at: 0 is the halo, 1 the first point of the field's own.
SLUICE_PROGRAM_FUNCTION std::uint64_t index_of(const Field &field, std::uint64_t x, std::uint64_t y) {
  return y * (field.n[0] + 2) + x;
}

SLUICE_PROGRAM_FUNCTION int step_of(unsigned direction, unsigned dimension) {
  return static_cast<int>(dimension == 0 ? direction % 3 : direction / 3) - 1;
}

// What is sent in a direction: how many points along each dimension, and where they begin; outwards 1: the halo there.
SLUICE_PROGRAM_FUNCTION std::uint64_t count_along(const Field &field, unsigned direction, unsigned dimension) {
  return step_of(direction, dimension) == 0 ? field.n[dimension] : 1;
}
SLUICE_PROGRAM_FUNCTION std::uint64_t begin_along(const Field &field, unsigned direction, unsigned dimension,
                                                  std::uint64_t outwards) {
  const int step = step_of(direction, dimension);
  return step == 0 ? 1 : step < 0 ? 1 - outwards : field.n[dimension] + outwards;
}

// Of the item-th point of all messages: where it lies in the field.
SLUICE_PROGRAM_FUNCTION std::uint64_t message_point(const Field &field, std::uint64_t item, std::uint64_t outwards) {
  unsigned direction = 0;
  for (;; ++direction) {
    if ((field.neighbour_mask >> direction & 1) == 0) continue;
    const std::uint64_t size = count_along(field, direction, 0) * count_along(field, direction, 1);
    if (item < size) break;
    item -= size;
  }
  const std::uint64_t n_x = count_along(field, direction, 0);
  return index_of(field, begin_along(field, direction, 0, outwards) + item % n_x,
                  begin_along(field, direction, 1, outwards) + item / n_x);
}

struct PackTask {
  double *messages;
  const double *values;
  Field field;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(pack, PackTask) {
  task.messages[item] = task.values[message_point(task.field, item, 0)];
}

struct UnpackTask {
  double *values;
  const double *messages;
  Field field;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(unpack, UnpackTask) {
  task.values[message_point(task.field, item, 1)] = task.messages[item];
}

// The weights are powers of two and sum up to one.
struct RelaxTask {
  double *next;
  const double *now;
  Field field;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(relax, RelaxTask) {
  const std::uint64_t n_x = task.field.n[0];
  const std::uint64_t row = n_x + 2;
  const std::uint64_t i = index_of(task.field, item % n_x + 1, item / n_x + 1);
  const double *now = task.now;
  const double beside = (now[i - 1] + now[i + 1]) + (now[i - row] + now[i + row]);
  const double across = (now[i - row - 1] + now[i - row + 1]) + (now[i + row - 1] + now[i + row + 1]);
  task.next[i] = 0.25 * now[i] + 0.125 * beside + 0.0625 * across;
}

}  // namespace sluice::apps::stencil2d
