// SPDX-License-Identifier: BSD-3-Clause
// Deals the grid out to the ranks.
#include "apps/fft3d/pencils.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sluice::apps::fft3d {

Range part_of(std::uint64_t n, std::uint64_t n_parts, std::uint64_t part) {
  const std::uint64_t shorter = n / n_parts;
  const std::uint64_t n_longer = n % n_parts;
  return {part * shorter + std::min(part, n_longer), shorter + (part < n_longer ? 1 : 0)};
}

std::array<std::uint64_t, 3> place_of(const Pencil &pencil, std::uint64_t item) {
  const Point point = point_of(pencil.box, static_cast<std::uint32_t>(item));
  return {pencil.begin[0] + point.x, pencil.begin[1] + point.y, pencil.begin[2] + point.z};
}

std::string why_not(const Grid &grid) {
  const auto first = static_cast<std::uint64_t>(grid.ranks[0]);
  const auto second = static_cast<std::uint64_t>(grid.ranks[1]);
  if (grid.n[0] < first || grid.n[1] < std::max(first, second) || grid.n[2] < second) {
    return fmt::format(
        "--size: {}x{}x{} points are too few for {}x{} ranks: x and y want as many as the first number, "
        "y and z as many as the second",
        grid.n[0], grid.n[1], grid.n[2], first, second);
  }
  // Counts of MPI are 32 bits wide; the first rank has most.
  const std::uint64_t most =
      std::max({grid.n[0] * part_of(grid.n[1], first, 0).length * part_of(grid.n[2], second, 0).length,
                part_of(grid.n[0], first, 0).length * grid.n[1] * part_of(grid.n[2], second, 0).length,
                part_of(grid.n[0], first, 0).length * part_of(grid.n[1], second, 0).length * grid.n[2]});
  if (most > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return fmt::format("--size: {} points on a rank are more than a count of MPI holds: start more ranks", most);
  }
  return "";
}

Pencils make_pencils(const World &world, const Grid &grid) {
  const auto first = static_cast<std::uint64_t>(grid.ranks[0]);
  const auto second = static_cast<std::uint64_t>(grid.ranks[1]);
  const auto rank = static_cast<std::uint64_t>(world.rank());
  const std::uint64_t in_row = rank % first;
  const std::uint64_t in_column = rank / first;
  const auto [nx, ny, nz] = grid.n;
  const Range x = part_of(nx, first, in_row);
  const Range y_along_x = part_of(ny, first, in_row);
  const Range y_along_z = part_of(ny, second, in_column);
  const Range z = part_of(nz, second, in_column);
  Pencils made{};
  made.along[0] = {{nx, y_along_x.length, z.length, 0}, {0, y_along_x.begin, z.begin}};
  made.along[1] = {{x.length, ny, z.length, 1}, {x.begin, 0, z.begin}};
  made.along[2] = {{x.length, y_along_z.length, nz, 0}, {x.begin, y_along_z.begin, 0}};
  for (const Pencil &pencil : made.along) made.most_points = std::max(made.most_points, n_points(pencil.box));
  bench::check_mpi(MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(in_column), static_cast<int>(in_row), &made.row),
                   "MPI_Comm_split");
  bench::check_mpi(MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(in_row), static_cast<int>(in_column), &made.column),
                   "MPI_Comm_split");
  return made;
}

void free_communicators(Pencils &pencils) {
  bench::check_mpi(MPI_Comm_free(&pencils.row), "MPI_Comm_free");
  bench::check_mpi(MPI_Comm_free(&pencils.column), "MPI_Comm_free");
}

}  // namespace sluice::apps::fft3d
