// SPDX-License-Identifier: BSD-3-Clause
// allgather, allgatherv: every rank gets the block of every rank.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

Layout all_get_all(const Circle &circle, std::uint64_t n) {
  return {own_vector(circle, n), block_from_each(circle, n, 0)};
}

const CollectiveRegistration allgather({
    .name = "allgather",
    .title = "every rank gets the block of every rank",
    .layout = all_get_all,
    .forms = make_forms<MPI_Allgather, MPI_Iallgather>("MPI_Allgather_init",
                                                       [](const Call &c) {
                                                         return std::make_tuple(c.send, c.count, c.type, c.recv,
                                                                                c.count, c.type, c.comm);
                                                       }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});
const CollectiveRegistration allgatherv({
    .name = "allgatherv",
    .title = "allgather with counts and displacements",
    .layout = all_get_all,
    .forms = make_forms<MPI_Allgatherv, MPI_Iallgatherv>("MPI_Allgatherv_init",
                                                         [](const Call &c) {
                                                           return std::make_tuple(
                                                               c.send, c.count, c.type, c.recv, c.recv_counts.data(),
                                                               c.recv_offsets.data(), c.type, c.comm);
                                                         }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});

}  // namespace
}  // namespace sluice::bench
