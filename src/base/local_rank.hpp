// SPDX-License-Identifier: BSD-3-Clause
// The number that this process has among the ranks of its node, before MPI is there to be asked.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace sluice {

struct LocalRank {
  int rank = 0;          // from 0
  int n_ranks = -1;      // of this node; -1: the launcher does not say
  std::string variable;  // the one that told
};

// The value of a variable, or null. As getenv.
using Environment = std::function<const char *(const char *name)>;

// What the launcher has told this process: Open MPI's (orterun, prterun), hydra and its derivatives (MPICH, Intel MPI),
// PALS (with and without PBS), MVAPICH, Cray's PMI, jsrun, Flux and Slurm. In this order: an MPI's own launcher that
// was started inside a batch job leaves the job's variables standing, and those are of another process. Empty when none
// of them started it. Numbers that are none, or outside 0..n-1, count as not told. Any thread that may call
// `environment`.
[[nodiscard]] std::optional<LocalRank> find_local_rank(const Environment &environment);

}  // namespace sluice
