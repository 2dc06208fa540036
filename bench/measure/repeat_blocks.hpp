// SPDX-License-Identifier: BSD-3-Clause
// The one loop over the blocks of a size: --repeat, --time-cap, --precision.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/measure/block_budget.hpp"

namespace sluice::bench {

// Calls time_block(number) --repeat times or until stop_after(budget), asked before each block but the first, gives a
// reason to stop, which is returned.
template <class TimeBlock, class StopAfter>
Stop repeat_blocks_until(const Options &options, TimeBlock time_block, StopAfter stop_after) {
  const BlockBudget budget(options.time_cap_s, options.precision_percent);
  for (std::uint64_t block = 0; block < options.repeat; ++block) {
    const Stop stop = block > 0 ? stop_after(budget) : Stop::none;
    if (stop != Stop::none) return stop;
    time_block(block);
  }
  return Stop::none;
}

// For a process that measures alone. time_block adds a block to each of the series. Ranks that measure together:
// mpi/agreed_stop.hpp.
template <class TimeBlock>
Stop repeat_blocks_alone(const Options &options, const std::vector<Series> &series, TimeBlock time_block) {
  return repeat_blocks_until(options, time_block, [&](const BlockBudget &budget) { return budget.stop_after(series); });
}

}  // namespace sluice::bench
