// SPDX-License-Identifier: BSD-3-Clause
// How the grid lies on the ranks: in pencils, whole along one dimension and dealt out along the other two.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "apps/fft3d/kernels.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::apps::fft3d {

using bench::World;

// The whole grid, points along x, y, z; and the ranks along the two dimensions that are dealt out.
struct Grid {
  std::array<std::uint64_t, 3> n;
  std::array<int, 2> ranks;

  std::uint64_t n_points() const { return n[0] * n[1] * n[2]; }
};

// Of n points dealt out to n_parts as evenly as can be, the longer parts first.
struct Range {
  std::uint64_t begin;
  std::uint64_t length;
};
Range part_of(std::uint64_t n, std::uint64_t n_parts, std::uint64_t part);

// A rank's points: begin.. along x, y, z of the whole grid, and how they lie in memory.
struct Pencil {
  Box box;
  std::array<std::uint64_t, 3> begin;
};

// What a rank holds while transforms run along x, then y, then z. Ranks of one row (equal place along the second
// dimension of the process grid) exchange x for y, those of one column y for z.
struct Pencils {
  std::array<Pencil, 3> along;  // x: [z][y][x], y: [y][z][x], z: [z][y][x], so that x is the fastest always
  MPI_Comm row;
  MPI_Comm column;
  std::uint64_t most_points;  // of the three
};

inline std::uint64_t n_points(const Box &box) {
  return box.n_x * box.n_y * box.n_z;
}
// Of the item-th point of a pencil in memory: its place in the whole grid.
std::array<std::uint64_t, 3> place_of(const Pencil &pencil, std::uint64_t item);

// Local. Why the grid does not fit the ranks, or "".
std::string why_not(const Grid &grid);

// Collective; the communicators are the caller's, who frees them by free_communicators(). Throws MpiError.
Pencils make_pencils(const World &world, const Grid &grid);
void free_communicators(Pencils &pencils);

}  // namespace sluice::apps::fft3d
