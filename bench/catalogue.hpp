// SPDX-License-Identifier: BSD-3-Clause
// The tests there are. A new test is one file in its family's folder that holds a Registration; nothing else names it.
#pragma once

#include <span>

#include "bench/cli/test_info.hpp"

namespace sluice::bench {

// An object of this at namespace scope puts a test into the catalogue before main() begins.
struct Registration {
  explicit Registration(TestInfo test);
};

// All tests, by family and name; lives as long as the program.
std::span<const TestInfo> query_tests();

}  // namespace sluice::bench
