// SPDX-License-Identifier: BSD-3-Clause
// The communicator of neighbourhood collectives.
#pragma once

#include <mpi.h>

#include "bench/cli/family_options.hpp"
#include "bench/coll/collective.hpp"
#include "bench/coll/rank_group.hpp"

namespace sluice::bench {

// A communicator with a torus over all ranks of a group, and who is whose neighbour in it. Owns the communicator.
class Neighborhood {
 public:
  // Collective over the group. Throws MpiError.
  Neighborhood(const RankGroup &group, const Topology &topology);
  Neighborhood(const Neighborhood &) = delete;
  Neighborhood &operator=(const Neighborhood &) = delete;
  ~Neighborhood();

  MPI_Comm communicator() const { return comm_; }
  // Writes sources, destinations and source_blocks.
  void describe(Circle &circle) const;

 private:
  Circle neighbors_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// The neighbours of `rank` in a torus of these extents, both ways along each dimension, 1 to radius steps.
// Pure; each once, and never the rank itself.
std::vector<int> torus_neighbors(const std::vector<int> &extents, int radius, int rank);

}  // namespace sluice::bench
