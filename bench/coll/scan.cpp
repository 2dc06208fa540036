// SPDX-License-Identifier: BSD-3-Clause
// scan, exscan: every rank gets the reduction of the vectors up to its own, or of those before it.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

const CollectiveRegistration scan({
    .name = "scan",
    .title = "every rank gets the reduction of the vectors up to its own",
    .is_reduction = true,
    .layout = [](const Circle &circle,
                 std::uint64_t n) { return Layout{own_vector(circle, n), reduced(n, circle.rank + 1)}; },
    .forms = make_forms<MPI_Scan, MPI_Iscan>(
        "MPI_Scan_init", [](const Call &c) { return std::make_tuple(c.send, c.recv, c.count, c.type, c.op, c.comm); }),
    .moved_sizes = one_size,
    .bus_factor = one_size,
});
const CollectiveRegistration exscan({
    .name = "exscan",
    .title = "every rank gets the reduction of the vectors before its own",
    .is_reduction = true,
    .layout =
        [](const Circle &circle, std::uint64_t n) {
          // MPI leaves open what rank 0 gets.
          return Layout{own_vector(circle, n), circle.rank == 0 ? std::vector<Block>{} : reduced(n, circle.rank)};
        },
    .forms = make_forms<MPI_Exscan, MPI_Iexscan>("MPI_Exscan_init",
                                                 [](const Call &c) {
                                                   return std::make_tuple(c.send, c.recv, c.count, c.type, c.op,
                                                                          c.comm);
                                                 }),
    .moved_sizes = one_size,
    .bus_factor = one_size,
});

}  // namespace
}  // namespace sluice::bench
