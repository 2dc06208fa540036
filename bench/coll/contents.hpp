// SPDX-License-Identifier: BSD-3-Clause
// What the buffers of a checked collective hold before and after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/cli/family_options.hpp"
#include "bench/coll/collective.hpp"
#include "bench/memory/expectation.hpp"

namespace sluice::bench {

// Moved data are bytes (memory/pattern.hpp), reduced data numbers (memory/numbers.hpp); both depend on rank, iteration
// and place.
struct Contents {
  bool is_reduction = false;
  ElementType type = ElementType::bytes;
  Operation operation = Operation::sum;
  int n_ranks = 1;
  std::uint64_t iteration = 0;

  std::uint64_t bytes_of(const std::vector<Block> &blocks) const;
  // buffer: exactly the blocks.
  void fill(std::span<std::byte> buffer, const std::vector<Block> &blocks) const;
  // Differs in every byte from what must arrive.
  void poison(std::span<std::byte> buffer, const std::vector<Block> &blocks) const;
  // What fill() writes, as a device computes it.
  Expectations expectations(const std::vector<Block> &blocks) const;
  // The first wrong element: "block 2 (rank 2), offset 17: expected 0x3f, got 0x00"; "" when every one is right.
  std::string find_error(std::span<const std::byte> buffer, const std::vector<Block> &blocks) const;
};

}  // namespace sluice::bench
