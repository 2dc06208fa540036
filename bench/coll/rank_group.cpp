// SPDX-License-Identifier: BSD-3-Clause
// The group of ranks that one rank runs a collective with.
#include "bench/coll/rank_group.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace sluice::bench {

RankGroup::RankGroup(const World &world, int n_groups) : rank_(world.rank()), n_ranks_(world.n_ranks()) {
  if (n_groups == 1) {
    return;
  }
  if (n_ranks_ % n_groups != 0 || n_ranks_ / n_groups < 2) {
    throw AgreedError(fmt::format(
        "--groups {}: {} ranks cannot be divided into groups of equally many, at least 2 in each", n_groups, n_ranks_));
  }
  n_ranks_ /= n_groups;
  number_ = rank_ / n_ranks_;
  rank_ %= n_ranks_;
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, number_, rank_, &comm_), "MPI_Comm_split");
}

RankGroup::~RankGroup() {
  if (comm_ != MPI_COMM_WORLD && MPI_Comm_free(&comm_) != MPI_SUCCESS) {
    fmt::print(stderr, "sluice-bench: MPI_Comm_free failed\n");
  }
}

}  // namespace sluice::bench
