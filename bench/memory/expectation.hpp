// SPDX-License-Identifier: BSD-3-Clause
// What memory is to hold, in a form that a device can compute too (sluice/testing/check.h).
#pragma once

#include <sluice/testing/check.h>

#include <cstdint>
#include <vector>

namespace sluice::bench {

// A part of a message's data: what it is to hold, and where in that its first byte is.
struct Expectation {
  std::uint64_t begin = 0;  // in the data
  std::uint64_t size_bytes = 0;
  sluice_check_source_t source = {};
  std::uint64_t position = 0;  // in the source, in bytes
};

// Parts in the order in which they lie, none overlapping another; all of the data together.
using Expectations = std::vector<Expectation>;

}  // namespace sluice::bench
