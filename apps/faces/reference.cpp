// SPDX-License-Identifier: BSD-3-Clause
// The reference: elements of the whole grid, wherever their ranks are, by their coordinates. It shares no code with the
// kernels.
#include "apps/faces/reference.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sluice::apps::faces {
namespace {

constexpr std::uint64_t kLargest = 1 << 20;

// A copy of a point: its element in the whole grid, and its place there.
struct Copy {
  std::uint64_t element[3];
  std::uint64_t place[3];
};

double first_value(const Copy &copy, std::uint64_t seed) {
  std::uint64_t mixed = seed + 1;
  for (int d = 0; d < 3; ++d) {
    mixed = (mixed ^ copy.element[d]) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29 ^ copy.place[d]) * 0xbf58476d1ce4e5b9u;
    mixed ^= mixed >> 32;
  }
  return static_cast<double>(mixed % kLargest + 1);
}

// Where a copy lies in the element one step further along d, when the two share it.
bool is_shared(const Copy &copy, int d, int step, std::uint64_t n_points, std::uint64_t n_all, Copy *other) {
  *other = copy;
  if (step == 0) return true;
  if (copy.place[d] != (step < 0 ? 0 : n_points - 1)) return false;
  if (step < 0 ? copy.element[d] == 0 : copy.element[d] + 1 == n_all) return false;
  other->element[d] += static_cast<std::uint64_t>(step);
  other->place[d] = step < 0 ? n_points - 1 : 0;
  return true;
}

// The first sum over all copies of a point is multiplied by their number in each further step.
double value_after(const Block &block, const Neighbours &neighbours, const Copy &copy, std::uint64_t seed,
                   int n_steps) {
  double sum = 0;
  int n_copies = 0;
  const auto n_all = [&](int d) { return neighbours.grid[d] * block.n_elements[d]; };
  for (int z = -1; z <= 1; ++z) {
    Copy along_z;
    if (!is_shared(copy, 2, z, block.n_points, n_all(2), &along_z)) continue;
    for (int y = -1; y <= 1; ++y) {
      Copy along_y;
      if (!is_shared(along_z, 1, y, block.n_points, n_all(1), &along_y)) continue;
      for (int x = -1; x <= 1; ++x) {
        Copy other;
        if (!is_shared(along_y, 0, x, block.n_points, n_all(0), &other)) continue;
        sum += first_value(other, seed);
        ++n_copies;
      }
    }
  }
  for (int step = 1; step < n_steps; ++step) sum *= n_copies;
  return n_steps == 0 ? first_value(copy, seed) : sum;
}

// Calls visit(index into the field, copy) for every point of every element of the block.
template <class Visit>
void for_each_point(const Block &block, const Neighbours &neighbours, const Visit &visit) {
  const std::uint64_t n = block.n_points;
  std::size_t index = 0;
  std::uint64_t first[3];
  for (int d = 0; d < 3; ++d) first[d] = neighbours.position[d] * block.n_elements[d];
  for (std::uint64_t e = 0; e < block.n_elements[0] * block.n_elements[1] * block.n_elements[2]; ++e) {
    for (std::uint64_t p = 0; p < n * n * n; ++p, ++index) {
      visit(index, Copy{{first[0] + e % block.n_elements[0], first[1] + e / block.n_elements[0] % block.n_elements[1],
                         first[2] + e / (block.n_elements[0] * block.n_elements[1])},
                        {p % n, p / n % n, p / (n * n)}});
    }
  }
}

}  // namespace

std::vector<double> first_field(const Block &block, const Neighbours &neighbours, std::uint64_t seed) {
  std::vector<double> field(field_size(block));
  for_each_point(block, neighbours, [&](std::size_t i, const Copy &copy) { field[i] = first_value(copy, seed); });
  return field;
}

std::string check_field(const Block &block, const Neighbours &neighbours, std::uint64_t seed, int n_steps,
                        const std::vector<double> &field) {
  std::string wrong;
  for_each_point(block, neighbours, [&](std::size_t i, const Copy &copy) {
    const double expected = value_after(block, neighbours, copy, seed, n_steps);
    if (field[i] == expected || !wrong.empty()) return;
    wrong = fmt::format("element {} {} {}, point {} {} {} is {} instead of {}", copy.element[0], copy.element[1],
                        copy.element[2], copy.place[0], copy.place[1], copy.place[2], field[i], expected);
  });
  return wrong;
}

}  // namespace sluice::apps::faces
