// SPDX-License-Identifier: BSD-3-Clause
// Which launcher started this process, by the variables that it set. All of it: any thread that may call the
// environment given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/local_rank.hpp"
#include "command/flavour.hpp"

namespace sluice::command {

struct StartedBy {
  std::string variable;           // the one that told
  int rank = 0;                   // of all ranks of the job
  int n_ranks = -1;               // -1: the launcher does not say
  std::vector<Flavour> flavours;  // of the MPIs that such a launcher starts, the likeliest first; none: of any
};

// Open MPI's launcher, the launchers that talk PMI (MPICH's and its kin), PALS, those that talk PMIx, and Slurm without
// either. In this order, which is that of find_local_rank() and has the same reason. Empty when none of them started
// this process. A batch script's own shell is no rank.
[[nodiscard]] std::optional<StartedBy> find_starter(const Environment &environment);

}  // namespace sluice::command
