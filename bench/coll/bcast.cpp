// SPDX-License-Identifier: BSD-3-Clause
// bcast: every rank gets the vector of the root.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

const CollectiveRegistration bcast({
    .name = "bcast",
    .title = "every rank gets the vector of rank 0",
    .has_two_buffers = false,
    .layout =
        [](const Circle &circle, std::uint64_t n) {
          return Layout{.recv = {{.n = n, .rank = circle.root}}, .is_recv_preset = circle.is_root()};
        },
    .forms = make_forms<MPI_Bcast, MPI_Ibcast>(
        "MPI_Bcast_init", [](const Call &c) { return std::make_tuple(c.recv, c.count, c.type, c.root, c.comm); }),
    .moved_sizes = one_size,
    .bus_factor = one_size,
});

}  // namespace
}  // namespace sluice::bench
