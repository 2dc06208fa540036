// SPDX-License-Identifier: BSD-3-Clause
// The order within a block when two routes are compared.
#pragma once

#include <cstdint>

namespace sluice::bench {

// Calls time_route(is_naive) for both routes. Every other block has the opposite order, so that neither route always
// follows the other.
template <class TimeRoute>
void in_turns(std::uint64_t block, TimeRoute time_route) {
  for (const bool is_naive : {block % 2 == 1, block % 2 == 0}) {
    time_route(is_naive);
  }
}

}  // namespace sluice::bench
