// SPDX-License-Identifier: BSD-3-Clause
// The group of ranks that one rank runs a collective with (--groups): all, or one of several that run at the same time.
#pragma once

#include <mpi.h>

#include "bench/mpi/world.hpp"

namespace sluice::bench {

// Consecutive ranks form a group; all groups have equally many.
class RankGroup {
 public:
  // Collective. Throws AgreedError when the ranks cannot be divided so, MpiError otherwise.
  RankGroup(const World &world, int n_groups);
  RankGroup(const RankGroup &) = delete;
  RankGroup &operator=(const RankGroup &) = delete;
  ~RankGroup();

  int number() const { return number_; }
  // Of this rank in its group.
  int rank() const { return rank_; }
  int n_ranks() const { return n_ranks_; }
  MPI_Comm communicator() const { return comm_; }

 private:
  int number_ = 0;
  int rank_ = 0;
  int n_ranks_ = 1;
  MPI_Comm comm_ = MPI_COMM_WORLD;
};

}  // namespace sluice::bench
