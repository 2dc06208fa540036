// SPDX-License-Identifier: BSD-3-Clause
// gather, gatherv: the root gets the block of every rank.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

Layout root_gets_all(const Circle &circle, std::uint64_t n) {
  return {own_vector(circle, n), circle.is_root() ? block_from_each(circle, n, 0) : std::vector<Block>{}};
}

const CollectiveRegistration gather({
    .name = "gather",
    .title = "rank 0 gets the block of every rank",
    .layout = root_gets_all,
    .forms = make_forms<MPI_Gather, MPI_Igather>("MPI_Gather_init",
                                                 [](const Call &c) {
                                                   return std::make_tuple(c.send, c.count, c.type, c.recv, c.count,
                                                                          c.type, c.root, c.comm);
                                                 }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});
const CollectiveRegistration gatherv({
    .name = "gatherv",
    .title = "gather with counts and displacements",
    .layout = root_gets_all,
    .forms = make_forms<MPI_Gatherv, MPI_Igatherv>("MPI_Gatherv_init",
                                                   [](const Call &c) {
                                                     return std::make_tuple(c.send, c.count, c.type, c.recv,
                                                                            c.recv_counts.data(), c.recv_offsets.data(),
                                                                            c.type, c.root, c.comm);
                                                   }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});

}  // namespace
}  // namespace sluice::bench
