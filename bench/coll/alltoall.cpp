// SPDX-License-Identifier: BSD-3-Clause
// alltoall, alltoallv, alltoallw: every rank has a block of its own for every rank.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

Layout each_to_each(const Circle &circle, std::uint64_t n) {
  return {block_for_each(circle, n, ranks_of(circle)),
          block_from_each(circle, n, static_cast<std::uint64_t>(circle.rank))};
}

const CollectiveRegistration alltoall({
    .name = "alltoall",
    .title = "every rank sends a block of its own to every rank",
    .layout = each_to_each,
    .forms = make_forms<MPI_Alltoall, MPI_Ialltoall>("MPI_Alltoall_init",
                                                     [](const Call &c) {
                                                       return std::make_tuple(c.send, c.count, c.type, c.recv, c.count,
                                                                              c.type, c.comm);
                                                     }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});
const CollectiveRegistration alltoallv({
    .name = "alltoallv",
    .title = "alltoall with counts and displacements",
    .layout = each_to_each,
    .forms = make_forms<MPI_Alltoallv, MPI_Ialltoallv>("MPI_Alltoallv_init",
                                                       [](const Call &c) {
                                                         return std::make_tuple(c.send, c.send_counts.data(),
                                                                                c.send_offsets.data(), c.type, c.recv,
                                                                                c.recv_counts.data(),
                                                                                c.recv_offsets.data(), c.type, c.comm);
                                                       }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});
const CollectiveRegistration alltoallw({
    .name = "alltoallw",
    .title = "alltoall with a datatype for each block",
    .layout = each_to_each,
    .forms = make_forms<MPI_Alltoallw, MPI_Ialltoallw>("MPI_Alltoallw_init",
                                                       [](const Call &c) {
                                                         return std::make_tuple(
                                                             c.send, c.send_counts.data(), c.send_byte_offsets.data(),
                                                             c.send_types.data(), c.recv, c.recv_counts.data(),
                                                             c.recv_byte_offsets.data(), c.recv_types.data(), c.comm);
                                                       }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});

}  // namespace
}  // namespace sluice::bench
