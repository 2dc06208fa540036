// SPDX-License-Identifier: BSD-3-Clause
// Ranks stop repeating blocks together.
#pragma once

#include <vector>

#include "bench/measure/repeat_blocks.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench {

// What rank 0, whose figures are reported, says of its blocks. Collective when there is a cap. Throws MpiError.
inline Stop agreed_stop(const BlockBudget &budget, const std::vector<Series> &series) {
  if (!budget.has_cap()) {
    return Stop::none;
  }
  int word = static_cast<int>(budget.stop_after(series));
  check_mpi(MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return static_cast<Stop>(word);
}

// repeat_blocks_alone() for ranks that measure together: all run the same number of blocks.
template <class TimeBlock>
Stop repeat_blocks_together(const Options &options, const std::vector<Series> &series, TimeBlock time_block) {
  return repeat_blocks_until(options, time_block,
                             [&](const BlockBudget &budget) { return agreed_stop(budget, series); });
}

}  // namespace sluice::bench
