// SPDX-License-Identifier: BSD-3-Clause
// neighbor_allgather, neighbor_allgatherv: every rank gets the block of each neighbour (-N).
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

Layout from_neighbors(const Circle &circle, std::uint64_t n) {
  Layout layout{own_vector(circle, n), {}};
  for (const int source : circle.sources) {
    layout.recv.push_back({.begin = layout.recv.size() * n, .n = n, .rank = source});
  }
  return layout;
}

const CollectiveRegistration neighbor_allgather({
    .name = "neighbor_allgather",
    .title = "every rank gets the block of each neighbour",
    .is_neighborhood = true,
    .layout = from_neighbors,
    .forms = make_forms<MPI_Neighbor_allgather, MPI_Ineighbor_allgather>(
        "MPI_Neighbor_allgather_init",
        [](const Call &c) { return std::make_tuple(c.send, c.count, c.type, c.recv, c.count, c.type, c.comm); }),
    .moved_sizes = size_for_each_neighbor,
    .bus_factor = one_size,
});
const CollectiveRegistration neighbor_allgatherv({
    .name = "neighbor_allgatherv",
    .title = "neighbor_allgather with counts and displacements",
    .is_neighborhood = true,
    .layout = from_neighbors,
    .forms = make_forms<MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv>("MPI_Neighbor_allgatherv_init",
                                                                           [](const Call &c) {
                                                                             return std::make_tuple(
                                                                                 c.send, c.count, c.type, c.recv,
                                                                                 c.recv_counts.data(),
                                                                                 c.recv_offsets.data(), c.type, c.comm);
                                                                           }),
    .moved_sizes = size_for_each_neighbor,
    .bus_factor = one_size,
});

}  // namespace
}  // namespace sluice::bench
