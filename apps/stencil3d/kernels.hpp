// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the seven-point stencil, for every device's compiler (apps/support/kernel.hpp).
//
// A rank's box is [z][y][x] with one layer of halo around it. Faces are numbered -x, +x, -y, +y, -z, +z.
#pragma once

#include <cstdint>

#ifndef SLUICE_PROGRAM_KERNEL
#include "apps/support/kernel.hpp"
#endif
#ifndef SLUICE_PROGRAM_FUNCTION
#define SLUICE_PROGRAM_FUNCTION inline
#endif

namespace sluice::apps::stencil3d {

constexpr unsigned kFaces = 6;

struct Box {
  std::uint64_t n[3];            // points along x, y, z, without the halo; at least 2
  std::uint64_t neighbour_mask;  // bit k: there is a neighbour behind face k
};

// at: 0 is the halo, 1 the first point of the box's own.
SLUICE_PROGRAM_FUNCTION std::uint64_t index_of(const Box &box, std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  return (z * (box.n[1] + 2) + y) * (box.n[0] + 2) + x;
}

SLUICE_PROGRAM_FUNCTION std::uint64_t face_size(const Box &box, unsigned face) {
  return face < 2 ? box.n[1] * box.n[2] : face < 4 ? box.n[0] * box.n[2] : box.n[0] * box.n[1];
}

// Of the item-th point of all faces with a neighbour: where it lies in the box, `outwards` layers out of it.
SLUICE_PROGRAM_FUNCTION std::uint64_t face_point(const Box &box, std::uint64_t item, std::uint64_t outwards) {
  unsigned face = 0;
  for (;; ++face) {
    if ((box.neighbour_mask >> face & 1) == 0) continue;
    if (item < face_size(box, face)) break;
    item -= face_size(box, face);
  }
  std::uint64_t at[3];
  const unsigned across = face / 2;
  for (unsigned d = 0; d < 3; ++d) {
    if (d == across) {
      at[d] = face % 2 == 0 ? 1 - outwards : box.n[d] + outwards;
    } else {
      at[d] = item % box.n[d] + 1;
      item /= box.n[d];
    }
  }
  return index_of(box, at[0], at[1], at[2]);
}

// ---- halo: an item for each point of the faces with a neighbour ----

struct PackTask {
  double *messages;
  const double *box_values;
  Box box;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(pack, PackTask) {
  task.messages[item] = task.box_values[face_point(task.box, item, 0)];
}

struct UnpackTask {
  double *box_values;
  const double *messages;
  Box box;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(unpack, UnpackTask) {
  task.box_values[face_point(task.box, item, 1)] = task.messages[item];
}

// ---- the stencil: the points that need no halo, then those at the box's surface ----

struct RelaxTask {
  double *next;
  const double *now;
  Box box;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};

// The weights are powers of two and sum up to one.
SLUICE_PROGRAM_FUNCTION void relax(const RelaxTask &task, std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  const Box &box = task.box;
  const std::uint64_t i = index_of(box, x, y, z);
  const std::uint64_t row = box.n[0] + 2;
  const std::uint64_t plane = row * (box.n[1] + 2);
  const double *now = task.now;
  const double around = (now[i - 1] + now[i + 1]) + (now[i - row] + now[i + row]) + (now[i - plane] + now[i + plane]);
  task.next[i] = 0.25 * now[i] + 0.125 * around;
}

SLUICE_PROGRAM_KERNEL(relax_inside, RelaxTask) {
  const std::uint64_t n_x = task.box.n[0] - 2;
  const std::uint64_t n_y = task.box.n[1] - 2;
  relax(task, item % n_x + 2, item / n_x % n_y + 2, item / (n_x * n_y) + 2);
}

// Items: the two planes in z, then for each other z the two rows in y, and the two ends of the other rows.
SLUICE_PROGRAM_KERNEL(relax_surface, RelaxTask) {
  const std::uint64_t n_x = task.box.n[0];
  const std::uint64_t n_y = task.box.n[1];
  const std::uint64_t n_z = task.box.n[2];
  if (item < 2 * n_x * n_y) {
    relax(task, item % n_x + 1, item / n_x % n_y + 1, item < n_x * n_y ? 1 : n_z);
    return;
  }
  const std::uint64_t ring = 2 * n_x + 2 * (n_y - 2);
  const std::uint64_t z = (item - 2 * n_x * n_y) / ring + 2;
  std::uint64_t rest = (item - 2 * n_x * n_y) % ring;
  if (rest < 2 * n_x) {
    relax(task, rest % n_x + 1, rest < n_x ? 1 : n_y, z);
    return;
  }
  rest -= 2 * n_x;
  relax(task, rest % 2 == 0 ? 1 : n_x, rest / 2 + 2, z);
}

// ---- the sweep over message sizes: bytes that depend on sender, step and place, and what came of all steps ----

SLUICE_PROGRAM_FUNCTION std::uint64_t byte_of(std::uint64_t seed, std::uint64_t step, std::uint64_t place) {
  std::uint64_t mixed = (seed * 0x9e3779b97f4a7c15u) ^ (step + 1) * 0xbf58476d1ce4e5b9u ^ place * 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  mixed *= 0xd6e8feb86659fd93u;
  return mixed >> 40 & 0xff;
}

// The number of the step lies in device memory, where a graph, whose launches are all alike, finds another one each
// time.
struct FillTask {
  unsigned char *messages;
  const std::uint64_t *step;
  std::uint64_t size_bytes;  // of one message
  std::uint64_t rank;
  static constexpr unsigned kMemory = 2;
  static constexpr unsigned kWritten = 1;
};
SLUICE_PROGRAM_KERNEL(fill, FillTask) {
  task.messages[item] = static_cast<unsigned char>(byte_of(task.rank, *task.step, item % task.size_bytes));
}

// And ends the step.
struct FoldTask {
  std::uint64_t *folded;
  std::uint64_t *step;
  const unsigned char *messages;
  static constexpr unsigned kMemory = 3;
  static constexpr unsigned kWritten = 2;
};
SLUICE_PROGRAM_KERNEL(fold, FoldTask) {
  task.folded[item] = task.folded[item] * 31 + task.messages[item];
  if (item == 0) ++*task.step;
}

}  // namespace sluice::apps::stencil3d
