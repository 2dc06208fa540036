// SPDX-License-Identifier: BSD-3-Clause
// The checks of the transform.
#include "apps/fft3d/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
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
void transform_along(const Grid &grid, unsigned dimension, const HostThreads &threads, Values &values) {
  constexpr std::uint64_t kChunkLines = 16;
  const std::uint64_t n = grid.n[dimension];
  const std::uint64_t stride = dimension == 0 ? 1 : dimension == 1 ? grid.n[0] : grid.n[0] * grid.n[1];
  const std::vector<Complex> roots = roots_of(n);
  threads.for_chunks(values.size() / n, kChunkLines, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<Complex> points(n);
    for (std::uint64_t line = begin; line < end; ++line) {
      const std::uint64_t first = line / stride * stride * n + line % stride;
      for (std::uint64_t k = 0; k < n; ++k) points[k] = values[first + k * stride];
      for (std::uint64_t k = 0; k < n; ++k) {
        Complex sum = 0;
        for (std::uint64_t j = 0; j < n; ++j) sum += points[j] * roots[j * k % n];
        values[first + k * stride] = sum;
      }
    }
  });
}

Values transform_by_definition(const Grid &grid, const HostThreads &threads) {
  Values values(grid.n_points());
  threads.for_each(values.size(), [&](std::uint64_t item) {
    const std::uint64_t row = item / grid.n[0];
    values[item] = first_value({item % grid.n[0], row % grid.n[1], row / grid.n[1]});
  });
  for (const unsigned dimension : {0u, 1u, 2u}) transform_along(grid, dimension, threads, values);
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

// Collective.
Complex sum_of_ranks(const Complex &own) {
  Complex all = 0;
  check_mpi(MPI_Allreduce(&own, &all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  return all;
}

// One frequency of the grid, from the first values of all ranks. Collective.
Complex sum_up(const Grid &grid, const Pencil &along_x, const HostThreads &threads, const Values &first,
               const Place &frequency) {
  std::array<std::vector<Complex>, 3> roots;  // of this frequency, for each place along the dimension
  for (unsigned d = 0; d < 3; ++d) {
    const std::vector<Complex> all = roots_of(grid.n[d]);
    for (std::uint64_t at = 0; at < grid.n[d]; ++at) roots[d].push_back(all[at * frequency[d] % grid.n[d]]);
  }
  const Box &box = along_x.box;
  const auto sum_of_rows = [&](std::uint64_t begin, std::uint64_t end) {
    Complex sum = 0;
    for (std::uint64_t row = begin; row < end; ++row) {
      const Place place = place_of(along_x, row * box.n_x);
      Complex of_row = 0;
      for (std::uint64_t x = 0; x < box.n_x; ++x) of_row += first[row * box.n_x + x] * roots[0][x];
      sum += of_row * roots[1][place[1]] * roots[2][place[2]];
    }
    return sum;
  };
  const std::uint64_t chunk_rows = std::max<std::uint64_t>(1, HostThreads::kChunkItems / box.n_x);
  Complex sum = 0;
  for (const Complex &part : threads.collect<Complex>(box.n_y * box.n_z, chunk_rows, sum_of_rows)) sum += part;
  return sum_of_ranks(sum);
}

// The first, the last, and some between.
Place sampled_place(const Grid &grid, std::uint64_t k) {
  if (k == 0) return {0, 0, 0};
  if (k == 1) return {grid.n[0] - 1, grid.n[1] - 1, grid.n[2] - 1};
  const std::uint64_t seed = mix({k, 1, 2});
  return {seed % grid.n[0], seed / 7 % grid.n[1], seed / 49 % grid.n[2]};
}

// Where a frequency lies in a pencil along z, and whether it does.
bool find(const Pencil &along_z, const Place &frequency, std::uint64_t *item) {
  const std::uint64_t x = frequency[0] - along_z.begin[0];
  const std::uint64_t y = frequency[1] - along_z.begin[1];
  if (x >= along_z.box.n_x || y >= along_z.box.n_y) return false;
  *item = (frequency[2] * along_z.box.n_y + y) * along_z.box.n_x + x;
  return true;
}

// A number whose bits name a place; exact in float too, as no dimension has more than 2^14 points.
Complex name_of(const Place &place) {
  return {static_cast<double>(place[0] << 10 | (place[2] & 1023)),
          static_cast<double>(place[1] << 10 | place[2] >> 10)};
}

}  // namespace

Complex first_value(const std::array<std::uint64_t, 3> &place) {
  const std::uint64_t mixed = mix(place);
  constexpr double kScale = 1.0 / (1 << 20);
  const auto part = [](std::uint64_t bits) { return (static_cast<double>(bits & 0x1fffff) - 0x100000) * kScale; };
  return {part(mixed), part(mixed >> 21)};
}

bool is_small(const Grid &grid) {
  return static_cast<double>(grid.n_points()) * static_cast<double>(grid.n[0] + grid.n[1] + grid.n[2]) <=
         kMostSmallSteps;
}

Reference::Reference(const World &world, const Grid &grid, const Pencils &pencils, bool is_double,
                     const HostThreads &threads)
    : world_(world),
      grid_(grid),
      pencils_(pencils),
      threads_(threads),
      allowed_(tolerance(grid, is_double)),
      first_(n_points(pencils.along[0].box)) {
  const Pencil &along_x = pencils.along[0];
  threads.for_each(first_.size(), [&](std::uint64_t item) { first_[item] = first_value(place_of(along_x, item)); });
  square_sum_ = sum_of_ranks(square_sum(threads, first_)).real();
  if (is_small(grid)) {
    all_ = transform_by_definition(grid, threads);
    return;
  }
  for (std::uint64_t k = 0; k < kSampled; ++k) {
    const Place place = sampled_place(grid, k);
    sampled_.push_back({place, sum_up(grid, along_x, threads, first_, place)});
  }
}

std::string Reference::compare_moved(const Pencil &pencil, const Values &moved, const char *where) const {
  return threads_.first_fault(moved.size(), [&](std::uint64_t item) -> std::string {
    const Place place = place_of(pencil, item);
    const Complex expected = name_of(place);
    if (moved[item] == expected) return "";
    return fmt::format("moved to pencils along {}: point {} {} {} is {}{:+}i instead of {}{:+}i", where, place[0],
                       place[1], place[2], moved[item].real(), moved[item].imag(), expected.real(), expected.imag());
  });
}

void Reference::check_moves(Transform &transform) const {
  Values named(first_.size());
  threads_.for_each(named.size(),
                    [&](std::uint64_t item) { named[item] = name_of(place_of(pencils_.along[0], item)); });
  transform.write(named);
  transform.move_forward();
  world_.agree(compare_moved(pencils_.along[2], transform.read(2), "z"));
  transform.move_back();
  world_.agree(compare_moved(pencils_.along[0], transform.read(0), "x, and back"));
}

std::string Reference::compare_frequencies(const Values &forward, double allowed) const {
  const Pencil &along_z = pencils_.along[2];
  for (const Frequency &frequency : sampled_) {
    std::uint64_t item = 0;
    if (!find(along_z, frequency.place, &item)) continue;
    std::string error = compare("the frequency", frequency.place, forward[item], frequency.value, allowed);
    if (!error.empty()) return error;
  }
  if (all_.empty()) return "";
  return threads_.first_fault(forward.size(), [&](std::uint64_t item) {
    const Place place = place_of(along_z, item);
    const Complex &expected = all_[(place[2] * grid_.n[1] + place[1]) * grid_.n[0] + place[0]];
    return compare("the frequency", place, forward[item], expected, allowed);
  });
}

void Reference::check_transform(const Values &forward, const Values &inverse) const {
  const auto n = static_cast<double>(grid_.n_points());
  // A frequency is a sum of n numbers of no order, as large as the root of n.
  world_.agree(compare_frequencies(forward, allowed_ * std::sqrt(n)));
  const double before = square_sum_ * n;
  const double after = sum_of_ranks(square_sum(threads_, forward)).real();
  const bool is_kept = std::abs(after - before) <= allowed_ * before;
  world_.agree(is_kept ? "" : fmt::format("the sum of squares is {} instead of {}", after, before));
  world_.agree(threads_.first_fault(first_.size(), [&](std::uint64_t item) {
    return compare("the inverse of the transform", place_of(pencils_.along[0], item), inverse[item] / n, first_[item],
                   2 * allowed_);
  }));
}

}  // namespace sluice::apps::fft3d
