// SPDX-License-Identifier: BSD-3-Clause
// The order of blocks when two routes are compared.
#pragma once

#include <cstdint>

namespace sluice::bench {

// Calls time_block(is_naive) n_blocks times for each route, or until is_enough(), which is asked between them. Every
// other block has the opposite order, so that neither route always follows the other.
template <class TimeBlock, class IsEnough>
void in_turns(std::uint64_t n_blocks, TimeBlock time_block, IsEnough is_enough) {
  for (std::uint64_t block = 0; block < n_blocks && (block == 0 || !is_enough()); ++block) {
    for (const bool is_naive : {block % 2 == 1, block % 2 == 0}) {
      time_block(is_naive);
    }
  }
}

}  // namespace sluice::bench
