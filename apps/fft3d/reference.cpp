// SPDX-License-Identifier: BSD-3-Clause
// The checks of the transform.
#include "apps/fft3d/reference.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace sluice::apps::fft3d {
namespace {

using Place = std::array<std::uint64_t, 3>;

constexpr double kMostSmallSteps = 3e7;
constexpr std::uint64_t kSampled = 5;

std::uint64_t mix(const Place &place) {
  std::uint64_t mixed =
      place[0] * 0x9e3779b97f4a7c15u ^ place[1] * 0xbf58476d1ce4e5b9u ^ place[2] * 0x94d049bb133111ebu;
  mixed ^= mixed >> 29;
  mixed *= 0xd6e8feb86659fd93u;
  return mixed ^ mixed >> 32;
}

// exp(-2 pi i k / n) for k below n.
std::vector<Complex> roots_of(std::uint64_t n) {
  std::vector<Complex> roots(n);
  for (std::uint64_t k = 0; k < n; ++k) {
    roots[k] = std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  }
  return roots;
}

// The transforms of the grid, [z][y][x], along one dimension, by the definition.
void transform_along(const Grid &grid, unsigned dimension, std::vector<Complex> &values) {
  const std::uint64_t n = grid.n[dimension];
  const std::uint64_t stride = dimension == 0 ? 1 : dimension == 1 ? grid.n[0] : grid.n[0] * grid.n[1];
  const std::vector<Complex> roots = roots_of(n);
  std::vector<Complex> line(n);
  for (std::uint64_t first = 0; first < values.size(); ++first) {
    if (first / stride % n != 0) continue;
    for (std::uint64_t k = 0; k < n; ++k) line[k] = values[first + k * stride];
    for (std::uint64_t k = 0; k < n; ++k) {
      Complex sum = 0;
      for (std::uint64_t j = 0; j < n; ++j) sum += line[j] * roots[j * k % n];
      values[first + k * stride] = sum;
    }
  }
}

std::vector<Complex> transform_by_definition(const Grid &grid) {
  std::vector<Complex> values;
  values.reserve(grid.n_points());
  for (std::uint64_t z = 0; z < grid.n[2]; ++z) {
    for (std::uint64_t y = 0; y < grid.n[1]; ++y) {
      for (std::uint64_t x = 0; x < grid.n[0]; ++x) values.push_back(first_value({x, y, z}));
    }
  }
  for (const unsigned dimension : {0u, 1u, 2u}) transform_along(grid, dimension, values);
  return values;
}

// How far a number may be off, for numbers as large as 1: errors of a transform grow with the logarithm of its length.
double tolerance(const Grid &grid, bool is_double) {
  const double epsilon = is_double ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return 8.0 * epsilon * (1.0 + std::log2(static_cast<double>(grid.n_points())));
}

std::string compare(const char *what, const Place &place, Complex found, Complex expected, double allowed) {
  if (std::norm(found - expected) <= allowed * allowed) return "";  // false for what is no number
  return fmt::format("{} at {} {} {} is {}{:+}i instead of {}{:+}i, further off than {:.3g}", what, place[0], place[1],
                     place[2], found.real(), found.imag(), expected.real(), expected.imag(), allowed);
}

// One frequency of the grid, from the first values of all ranks. Collective.
Complex sum_up(const Grid &grid, const Pencil &along_x, const std::vector<Complex> &first, const Place &frequency) {
  std::array<std::vector<Complex>, 3> roots;  // of this frequency, for each place along the dimension
  for (unsigned d = 0; d < 3; ++d) {
    const std::vector<Complex> all = roots_of(grid.n[d]);
    for (std::uint64_t at = 0; at < grid.n[d]; ++at) roots[d].push_back(all[at * frequency[d] % grid.n[d]]);
  }
  const Box &box = along_x.box;
  Complex sum = 0;
  for (std::uint64_t row = 0; row < box.n_y * box.n_z; ++row) {
    const Place place = place_of(along_x, row * box.n_x);
    Complex of_row = 0;
    for (std::uint64_t x = 0; x < box.n_x; ++x) of_row += first[row * box.n_x + x] * roots[0][x];
    sum += of_row * roots[1][place[1]] * roots[2][place[2]];
  }
  Complex all = 0;
  check_mpi(MPI_Allreduce(&sum, &all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  return all;
}

// Where a frequency lies in a pencil along z, and whether it does.
bool find(const Pencil &along_z, const Place &frequency, std::uint64_t *item) {
  const std::uint64_t x = frequency[0] - along_z.begin[0];
  const std::uint64_t y = frequency[1] - along_z.begin[1];
  if (x >= along_z.box.n_x || y >= along_z.box.n_y) return false;
  *item = (frequency[2] * along_z.box.n_y + y) * along_z.box.n_x + x;
  return true;
}

// Collective.
std::string check_sampled(const Grid &grid, const Pencils &pencils, const std::vector<Complex> &first,
                          const std::vector<Complex> &forward, double allowed) {
  std::string error;
  for (std::uint64_t k = 0; k < kSampled; ++k) {
    // The first, the last, and three between.
    const std::uint64_t seed = mix({k, 1, 2});
    Place frequency = {seed % grid.n[0], seed / 7 % grid.n[1], seed / 49 % grid.n[2]};
    if (k == 0) frequency = {0, 0, 0};
    if (k == 1) frequency = {grid.n[0] - 1, grid.n[1] - 1, grid.n[2] - 1};
    const Complex expected = sum_up(grid, pencils.along[0], first, frequency);
    std::uint64_t item = 0;
    if (!error.empty() || !find(pencils.along[2], frequency, &item)) continue;
    error = compare("the frequency", frequency, forward[item], expected, allowed);
  }
  return error;
}

std::string check_all(const Grid &grid, const Pencil &along_z, const std::vector<Complex> &forward, double allowed) {
  const std::vector<Complex> expected = transform_by_definition(grid);
  for (std::uint64_t item = 0; item < forward.size(); ++item) {
    const Place place = place_of(along_z, item);
    const std::uint64_t i = (place[2] * grid.n[1] + place[1]) * grid.n[0] + place[0];
    const std::string error = compare("the frequency", place, forward[item], expected[i], allowed);
    if (!error.empty()) return error;
  }
  return "";
}

// Collective. The sum of squares of all ranks' numbers, with what each addition loses kept beside it (Neumaier). A long
// double would do, but libraries were seen to leave a processor's extended numbers at 53 bits: 2^26 squares were then
// 3e-13 off on every MPI alike.
double square_sum(const std::vector<Complex> &values) {
  double sum = 0;
  double lost = 0;
  for (const Complex &value : values) {
    const double square = std::norm(value);
    const double next = sum + square;
    lost += sum >= square ? (sum - next) + square : (square - next) + sum;
    sum = next;
  }
  const double own = sum + lost;
  double all = 0;
  check_mpi(MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  return all;
}

// A number whose bits name a place; exact in float too, as no dimension has more than 2^14 points.
Complex name_of(const Place &place) {
  return {static_cast<double>(place[0] << 10 | (place[2] & 1023)),
          static_cast<double>(place[1] << 10 | place[2] >> 10)};
}

std::string compare_moved(const Pencil &pencil, const std::vector<Complex> &moved, const char *where) {
  for (std::uint64_t item = 0; item < moved.size(); ++item) {
    const Place place = place_of(pencil, item);
    const Complex expected = name_of(place);
    if (moved[item] == expected) continue;
    return fmt::format("moved to pencils along {}: point {} {} {} is {}{:+}i instead of {}{:+}i", where, place[0],
                       place[1], place[2], moved[item].real(), moved[item].imag(), expected.real(), expected.imag());
  }
  return "";
}

}  // namespace

Complex first_value(const std::array<std::uint64_t, 3> &place) {
  const std::uint64_t mixed = mix(place);
  constexpr double kScale = 1.0 / (1 << 20);
  const auto part = [](std::uint64_t bits) { return (static_cast<double>(bits & 0x1fffff) - 0x100000) * kScale; };
  return {part(mixed), part(mixed >> 21)};
}

std::vector<Complex> first_values(const Pencil &pencil) {
  std::vector<Complex> values(n_points(pencil.box));
  for (std::uint64_t item = 0; item < values.size(); ++item) values[item] = first_value(place_of(pencil, item));
  return values;
}

void check_moves(const World &world, Transform &transform, const Pencils &pencils) {
  std::vector<Complex> named(n_points(pencils.along[0].box));
  for (std::uint64_t item = 0; item < named.size(); ++item) named[item] = name_of(place_of(pencils.along[0], item));
  transform.write(named);
  transform.move_forward();
  world.agree(compare_moved(pencils.along[2], transform.read(2), "z"));
  transform.move_back();
  world.agree(compare_moved(pencils.along[0], transform.read(0), "x, and back"));
}

bool is_small(const Grid &grid) {
  return static_cast<double>(grid.n_points()) * static_cast<double>(grid.n[0] + grid.n[1] + grid.n[2]) <=
         kMostSmallSteps;
}

void check_transform(const World &world, const Grid &grid, const Pencils &pencils, bool is_double,
                     const std::vector<Complex> &first, const std::vector<Complex> &forward,
                     const std::vector<Complex> &inverse) {
  const auto n = static_cast<double>(grid.n_points());
  const double allowed = tolerance(grid, is_double);
  // A frequency is a sum of n numbers of no order, as large as the root of n.
  world.agree(is_small(grid) ? check_all(grid, pencils.along[2], forward, allowed * std::sqrt(n))
                             : check_sampled(grid, pencils, first, forward, allowed * std::sqrt(n)));
  const double before = square_sum(first) * n;
  const double after = square_sum(forward);
  const bool is_kept = std::abs(after - before) <= allowed * before;
  world.agree(is_kept ? "" : fmt::format("the sum of squares is {} instead of {}", after, before));
  std::string error;
  for (std::uint64_t item = 0; item < first.size() && error.empty(); ++item) {
    error = compare("the inverse of the transform", place_of(pencils.along[0], item), inverse[item] / n, first[item],
                    2 * allowed);
  }
  world.agree(error);
}

}  // namespace sluice::apps::fft3d
