// SPDX-License-Identifier: BSD-3-Clause
// reduce: the root gets the reduction of all vectors.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

const CollectiveRegistration reduce({
    .name = "reduce",
    .title = "rank 0 gets the reduction of all vectors",
    .is_reduction = true,
    .layout =
        [](const Circle &circle, std::uint64_t n) {
          return Layout{own_vector(circle, n), circle.is_root() ? reduced(n, circle.n_ranks) : std::vector<Block>{}};
        },
    .forms = make_forms<MPI_Reduce, MPI_Ireduce>("MPI_Reduce_init",
                                                 [](const Call &c) {
                                                   return std::make_tuple(c.send, c.recv, c.count, c.type, c.op, c.root,
                                                                          c.comm);
                                                 }),
    .moved_sizes = one_size,
    .bus_factor = one_size,
});

}  // namespace
}  // namespace sluice::bench
