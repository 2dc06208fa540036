// SPDX-License-Identifier: BSD-3-Clause
// The data that reductions carry: small whole numbers, so that sums of floating point are exact whatever the order.
//
// A number depends on rank, iteration and element:
//   value = (hash(element) + 101 * rank + 37 * iteration) mod m, less half of m for signed types
// with m at most 1021 (a prime), and so small that the sum over all ranks is exact in the type.
#pragma once

#include <sluice/testing/check.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "bench/cli/family_options.hpp"

namespace sluice::bench {

// The reduction over `n_ranks` ranks from first_rank on; one rank: its own numbers.
struct Contributors {
  int first_rank = 0;
  int n_ranks = 1;
  int n_all = 1;  // ranks of the communicator: m depends on it
};

class Numbers {
 public:
  Numbers(ElementType type, Operation operation, const Contributors &ranks, std::uint64_t iteration)
      : type_(type), operation_(operation), ranks_(ranks), iteration_(iteration) {}

  // As a whole number; the same in every type.
  std::int64_t at(std::uint64_t element) const;
  // Writes the numbers of `first` and the following elements. bytes: a whole number of elements.
  void fill(std::span<std::byte> bytes, std::uint64_t first) const;
  // Writes bits that differ from the right ones in every byte.
  void poison(std::span<std::byte> bytes, std::uint64_t first) const;
  // "" when every bit is right, else which element (counted from `first`) is wrong and how.
  std::string find_error(std::span<const std::byte> bytes, std::uint64_t first) const;
  // The same numbers as a device computes them; position 0 is element 0.
  sluice_check_source_t source() const;

 private:
  // What an element comes to whose own part of its number is `start`.
  std::int64_t of_start(std::int64_t start) const;
  std::uint64_t bits_as_type(std::int64_t value) const;
  // Calls visit(i, bits of element first + i) for i from 0 on, until it returns false.
  template <class Visit>
  void for_each(std::size_t n_elements, std::uint64_t first, Visit visit) const;
  std::string text_of(std::uint64_t bits) const;

  ElementType type_;
  Operation operation_;
  Contributors ranks_;
  std::uint64_t iteration_;
};

}  // namespace sluice::bench
