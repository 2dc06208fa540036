// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/member.hpp"

#include <cstddef>
#include <memory>

#include "ops/comm/comm_state.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// They stay the same as long as the communicator lives.
struct NeighborsOfComm {
  static constexpr CommPart kPart = CommPart::kNeighbors;
  NeighborhoodPtr neighborhood;
};

// An address, even for none.
std::vector<int> ranks_for(int n) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(n) + 1);
  ranks.resize(static_cast<std::size_t>(n));
  return ranks;
}

bool of_grid(MPI_Comm comm, Neighborhood *neighborhood) {
  int n_dimensions = 0;
  if (wire::host().MPI_Cartdim_get(comm, &n_dimensions) != MPI_SUCCESS) return false;
  for (int dimension = 0; dimension < n_dimensions; ++dimension) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    if (wire::host().MPI_Cart_shift(comm, dimension, 1, &below, &above) != MPI_SUCCESS) return false;
    neighborhood->is_grid_with_one_twice |= below == above && below != MPI_PROC_NULL;
    neighborhood->sources.insert(neighborhood->sources.end(), {below, above});
  }
  neighborhood->destinations = neighborhood->sources;
  return true;
}

bool of_graph(MPI_Comm comm, Neighborhood *neighborhood) {
  int rank = 0;
  int n_neighbors = 0;
  if (wire::host().MPI_Comm_rank(comm, &rank) != MPI_SUCCESS ||
      wire::host().MPI_Graph_neighbors_count(comm, rank, &n_neighbors) != MPI_SUCCESS || n_neighbors < 0) {
    return false;
  }
  std::vector<int> &ranks = neighborhood->sources;
  ranks = ranks_for(n_neighbors);
  if (wire::host().MPI_Graph_neighbors(comm, rank, n_neighbors, ranks.data()) != MPI_SUCCESS) return false;
  neighborhood->destinations = ranks;
  return true;
}

bool of_distributed_graph(MPI_Comm comm, Neighborhood *neighborhood) {
  int n_sources = 0;
  int n_destinations = 0;
  int is_weighted = 0;
  if (wire::host().MPI_Dist_graph_neighbors_count(comm, &n_sources, &n_destinations, &is_weighted) != MPI_SUCCESS ||
      n_sources < 0 || n_destinations < 0) {
    return false;
  }
  neighborhood->sources = ranks_for(n_sources);
  neighborhood->destinations = ranks_for(n_destinations);
  // Where they have no weights nothing is written there.
  std::vector<int> source_weights = ranks_for(n_sources);
  std::vector<int> destination_weights = ranks_for(n_destinations);
  return wire::host().MPI_Dist_graph_neighbors(comm, n_sources, neighborhood->sources.data(), source_weights.data(),
                                               n_destinations, neighborhood->destinations.data(),
                                               destination_weights.data()) == MPI_SUCCESS;
}

bool find_neighbors(MPI_Comm comm, Neighborhood *neighborhood) {
  int topology = MPI_UNDEFINED;
  if (wire::host().MPI_Topo_test(comm, &topology) != MPI_SUCCESS) return false;
  if (topology == MPI_CART) return of_grid(comm, neighborhood);
  if (topology == MPI_GRAPH) return of_graph(comm, neighborhood);
  return topology == MPI_DIST_GRAPH && of_distributed_graph(comm, neighborhood);
}

}  // namespace

bool Member::of(MPI_Comm comm, Member *member) {
  if (const CommState *const state = state_for_call(comm); state != nullptr) {
    *member = {state->rank, state->size, state->n_peers, state->is_inter, state};
    return true;
  }
  const wire::Host &host = wire::host();
  int is_inter = 0;
  if (comm == MPI_COMM_NULL || host.MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS ||
      host.MPI_Comm_rank(comm, &member->rank) != MPI_SUCCESS ||
      host.MPI_Comm_size(comm, &member->size) != MPI_SUCCESS) {
    return false;
  }
  member->is_inter = is_inter != 0;
  member->n_peers = member->size;
  return !member->is_inter || host.MPI_Comm_remote_size(comm, &member->n_peers) == MPI_SUCCESS;
}

Role Member::role(int root) const noexcept {
  if (!is_inter) return root == rank ? Role::kRoot : Role::kOther;
  if (root == MPI_ROOT) return Role::kRoot;
  return root == MPI_PROC_NULL ? Role::kIdle : Role::kOther;
}

NeighborhoodPtr Neighborhood::of(MPI_Comm comm) {
  const CommStatePtr state = state_of(comm);
  NeighborhoodPtr *const known = state != nullptr ? &state->part<NeighborsOfComm>().neighborhood : nullptr;
  if (known != nullptr && *known != nullptr) return *known;
  auto found = std::make_shared<Neighborhood>();
  if (!find_neighbors(comm, found.get())) return nullptr;
  if (known != nullptr) *known = found;
  return found;
}

}  // namespace sluice::ops::coll
