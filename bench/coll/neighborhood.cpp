// SPDX-License-Identifier: BSD-3-Clause
// The communicator of neighbourhood collectives.
#include "bench/coll/neighborhood.hpp"

#include <algorithm>
#include <cstdio>

namespace sluice::bench {
namespace {

std::vector<int> coordinates_of(const std::vector<int> &extents, int rank) {
  std::vector<int> coordinates(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    coordinates[i] = rank % extents[i];
    rank /= extents[i];
  }
  return coordinates;
}

int rank_at(const std::vector<int> &extents, const std::vector<int> &coordinates) {
  int rank = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    rank = rank * extents[i] + coordinates[i];
  }
  return rank;
}

// Which of the blocks that a rank sends is for `rank`.
std::uint64_t block_for(const std::vector<int> &destinations, int rank) {
  return static_cast<std::uint64_t>(std::find(destinations.begin(), destinations.end(), rank) - destinations.begin());
}

}  // namespace

std::vector<int> torus_neighbors(const std::vector<int> &extents, int radius, int rank) {
  const std::vector<int> own = coordinates_of(extents, rank);
  std::vector<int> neighbors;
  for (std::size_t dimension = 0; dimension < extents.size(); ++dimension) {
    for (int step = 1; step <= radius; ++step) {
      for (const int direction : {-step, step}) {
        std::vector<int> there = own;
        const int extent = extents[dimension];
        there[dimension] = ((own[dimension] + direction) % extent + extent) % extent;
        const int neighbor = rank_at(extents, there);
        // In a short dimension several steps lead to one rank, or back. MPIs do not agree on which of two edges between
        // the same ranks is which, so there is one.
        if (neighbor != rank && std::find(neighbors.begin(), neighbors.end(), neighbor) == neighbors.end()) {
          neighbors.push_back(neighbor);
        }
      }
    }
  }
  return neighbors;
}

Neighborhood::Neighborhood(const RankGroup &group, const Topology &topology) {
  std::vector<int> extents(static_cast<std::size_t>(topology.dimensions));
  check_mpi(MPI_Dims_create(group.n_ranks(), topology.dimensions, extents.data()), "MPI_Dims_create");
  const std::vector<int> mine = torus_neighbors(extents, topology.radius, group.rank());
  neighbors_.sources = mine;
  neighbors_.destinations = mine;
  for (const int source : mine) {
    neighbors_.source_blocks.push_back(block_for(torus_neighbors(extents, topology.radius, source), group.rank()));
  }
  const int n = static_cast<int>(mine.size());
  check_mpi(MPI_Dist_graph_create_adjacent(group.communicator(), n, mine.data(), MPI_UNWEIGHTED, n, mine.data(),
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_),
            "MPI_Dist_graph_create_adjacent");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

Neighborhood::~Neighborhood() {
  if (comm_ != MPI_COMM_NULL && MPI_Comm_free(&comm_) != MPI_SUCCESS) {
    std::fprintf(stderr, "sluice-bench: MPI_Comm_free failed\n");
  }
}

void Neighborhood::describe(Circle &circle) const {
  circle.sources = neighbors_.sources;
  circle.destinations = neighbors_.destinations;
  circle.source_blocks = neighbors_.source_blocks;
}

}  // namespace sluice::bench
