// SPDX-License-Identifier: BSD-3-Clause
// Which kinds of memory and which sizes a test goes through, and how `quick` is cut out of `full`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/memory.hpp"

namespace sluice::tests {

// Every message of a test goes from memory of kind `send` to memory of kind `recv`.
struct Case {
  Kind send = Kind::host;
  Kind recv = Kind::host;
  std::size_t size_bytes = 0;
};

std::string describe(const Case &c);

// How wide a test goes in the quick matrix; in the full one every test goes through all kinds and sizes.
enum class Breadth {
  wide,   // all pairs of kinds, the sizes around the thresholds; 8 MiB between devices
  narrow  // five pairs of kinds, three sizes
};

// The pairs of kinds, and the sizes.
std::vector<Case> kind_pairs(Breadth breadth);
std::vector<std::size_t> sizes(Breadth breadth);

// Calls `body` for each case, the same on all ranks; stops after the first case in which any rank found a failure.
void for_each_case(Breadth breadth, const std::function<void(const Case &)> &body);
// The same with sizes of the test's own.
void for_each_case(Breadth breadth, const std::vector<std::size_t> &sizes_bytes,
                   const std::function<void(const Case &)> &body);

}  // namespace sluice::tests
