// SPDX-License-Identifier: BSD-3-Clause
// Ranks stop repeating blocks together.
#pragma once

#include <vector>

#include "bench/measure/block_budget.hpp"
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

}  // namespace sluice::bench
