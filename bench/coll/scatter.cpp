// SPDX-License-Identifier: BSD-3-Clause
// scatter, scatterv: every rank gets a block of its own from the root.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

Layout root_sends_each(const Circle &circle, std::uint64_t n) {
  const Block mine{.n = n, .rank = circle.root, .message = static_cast<std::uint64_t>(circle.rank)};
  return {circle.is_root() ? block_for_each(circle, n, ranks_of(circle)) : std::vector<Block>{}, {mine}};
}

const CollectiveRegistration scatter({
    .name = "scatter",
    .title = "every rank gets a block of its own from rank 0",
    .layout = root_sends_each,
    .forms = make_forms<MPI_Scatter, MPI_Iscatter>("MPI_Scatter_init",
                                                   [](const Call &c) {
                                                     return std::make_tuple(c.send, c.count, c.type, c.recv, c.count,
                                                                            c.type, c.root, c.comm);
                                                   }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});
const CollectiveRegistration scatterv({
    .name = "scatterv",
    .title = "scatter with counts and displacements",
    .layout = root_sends_each,
    .forms = make_forms<MPI_Scatterv, MPI_Iscatterv>("MPI_Scatterv_init",
                                                     [](const Call &c) {
                                                       return std::make_tuple(c.send, c.send_counts.data(),
                                                                              c.send_offsets.data(), c.type, c.recv,
                                                                              c.count, c.type, c.root, c.comm);
                                                     }),
    .moved_sizes = size_for_each_rank,
    .bus_factor = all_but_own,
});

}  // namespace
}  // namespace sluice::bench
