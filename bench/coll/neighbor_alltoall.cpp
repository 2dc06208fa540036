// SPDX-License-Identifier: BSD-3-Clause
// neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw: a block of its own for each neighbour (-N).
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

Layout to_neighbors(const Circle &circle, std::uint64_t n) {
  Layout layout{block_for_each(circle, n, circle.destinations.size()), {}};
  for (std::size_t i = 0; i < circle.sources.size(); ++i) {
    layout.recv.push_back({.begin = i * n, .n = n, .rank = circle.sources[i], .message = circle.source_blocks[i]});
  }
  return layout;
}

const CollectiveRegistration neighbor_alltoall({
    .name = "neighbor_alltoall",
    .title = "every rank sends a block of its own to each neighbour",
    .is_neighborhood = true,
    .layout = to_neighbors,
    .forms = make_forms<MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall>(
        "MPI_Neighbor_alltoall_init",
        [](const Call &c) { return std::make_tuple(c.send, c.count, c.type, c.recv, c.count, c.type, c.comm); }),
    .moved_sizes = size_for_each_neighbor,
    .bus_factor = one_size,
});
const CollectiveRegistration neighbor_alltoallv({
    .name = "neighbor_alltoallv",
    .title = "neighbor_alltoall with counts and displacements",
    .is_neighborhood = true,
    .layout = to_neighbors,
    .forms = make_forms<MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv>("MPI_Neighbor_alltoallv_init",
                                                                         [](const Call &c) {
                                                                           return std::make_tuple(
                                                                               c.send, c.send_counts.data(),
                                                                               c.send_offsets.data(), c.type, c.recv,
                                                                               c.recv_counts.data(),
                                                                               c.recv_offsets.data(), c.type, c.comm);
                                                                         }),
    .moved_sizes = size_for_each_neighbor,
    .bus_factor = one_size,
});
const CollectiveRegistration neighbor_alltoallw({
    .name = "neighbor_alltoallw",
    .title = "neighbor_alltoall with a datatype for each block",
    .is_neighborhood = true,
    .layout = to_neighbors,
    .forms = make_forms<MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw>(
        "MPI_Neighbor_alltoallw_init",
        [](const Call &c) {
          return std::make_tuple(c.send, c.send_counts.data(), c.send_addresses.data(), c.send_types.data(), c.recv,
                                 c.recv_counts.data(), c.recv_addresses.data(), c.recv_types.data(), c.comm);
        }),
    .moved_sizes = size_for_each_neighbor,
    .bus_factor = one_size,
});

}  // namespace
}  // namespace sluice::bench
