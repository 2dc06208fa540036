// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

namespace sluice::tests {
namespace {

using Exact = std::complex<long double>;

// Half of a unit in the last place of 1.
long double unit_of(const TypeCase &of) {
  return of.size_bytes / static_cast<std::size_t>(of.n_parts) == sizeof(float) ? 0x1p-24L : 0x1p-53L;
}

long double part_of(const TypeCase &of, const unsigned char *element, int part) {
  if (part >= of.n_parts) return 0;
  if (of.size_bytes / static_cast<std::size_t>(of.n_parts) == sizeof(float)) {
    float number = 0;
    std::memcpy(&number, element + static_cast<std::size_t>(part) * sizeof(number), sizeof(number));
    return number;
  }
  double number = 0;
  std::memcpy(&number, element + static_cast<std::size_t>(part) * sizeof(number), sizeof(number));
  return number;
}

Exact value_of(const TypeCase &of, const unsigned char *element) {
  return {part_of(of, element, 0), part_of(of, element, 1)};
}

}  // namespace

Bytes rounded_input(const TypeCase &of, int rank, int count) {
  Bytes bytes(static_cast<std::size_t>(count) * of.size_bytes, 0);
  for (int i = 0; i < count; ++i) of.make(bytes.data() + static_cast<std::size_t>(i) * of.size_bytes, i, rank);
  return bytes;
}

Bytes folded_in_order(const TypeCase &of, MPI_Op op, int n_ranks, int count) {
  Bytes so_far = rounded_input(of, 0, count);
  for (int rank = 1; rank < n_ranks; ++rank) {
    Bytes next = rounded_input(of, rank, count);
    EXPECT_EQ(MPI_Reduce_local(so_far.data(), next.data(), count, of.type, op), MPI_SUCCESS);
    so_far = next;
  }
  return so_far;
}

void forget_overflows(const TypeCase &of, Bytes *wanted, Bytes *found) {
  for (std::size_t place = 0; place + of.size_bytes <= wanted->size(); place += of.size_bytes) {
    const Exact value = value_of(of, wanted->data() + place);
    if (std::isfinite(value.real()) && std::isfinite(value.imag())) continue;
    for (Bytes *bytes : {wanted, found}) std::memset(bytes->data() + place, 0, of.size_bytes);
  }
}

std::string find_rounding_error(const TypeCase &of, MPI_Op op, int n_ranks, const Bytes &found) {
  const auto count = static_cast<int>(found.size() / of.size_bytes);
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < n_ranks; ++rank) inputs.push_back(rounded_input(of, rank, count));
  for (int i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(i) * of.size_bytes;
    Exact exact = op == MPI_SUM ? 0 : 1;
    long double sizes = 0;
    for (const Bytes &input : inputs) {
      const Exact number = value_of(of, input.data() + place);
      exact = op == MPI_SUM ? exact + number : exact * number;
      sizes += std::abs(number);
    }
    // Each sum rounds by at most that unit of what has come together so far; a complex product by some of its own size.
    const long double size = op == MPI_SUM ? sizes : 4 * std::abs(exact);
    const long double error = std::abs(value_of(of, found.data() + place) - exact);
    // No number is not near.
    if (!(error <= size * static_cast<long double>(n_ranks) * unit_of(of))) {
      return "element " + std::to_string(i) + " of " + std::to_string(count) + " is off by " + std::to_string(error);
    }
  }
  return "";
}

}  // namespace sluice::tests
