// SPDX-License-Identifier: BSD-3-Clause
// allreduce: every rank gets the reduction of all vectors.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

const CollectiveRegistration allreduce({
    .name = "allreduce",
    .title = "every rank gets the reduction of all vectors",
    .is_reduction = true,
    .layout = [](const Circle &circle,
                 std::uint64_t n) { return Layout{own_vector(circle, n), reduced(n, circle.n_ranks)}; },
    .forms = make_forms<MPI_Allreduce, MPI_Iallreduce>("MPI_Allreduce_init",
                                                       [](const Call &c) {
                                                         return std::make_tuple(c.send, c.recv, c.count, c.type, c.op,
                                                                                c.comm);
                                                       }),
    .moved_sizes = one_size,
    .bus_factor = twice_all_but_own,
});

}  // namespace
}  // namespace sluice::bench
