// SPDX-License-Identifier: BSD-3-Clause
// barrier: no rank leaves before all have come.
#include "bench/coll/layouts.hpp"

namespace sluice::bench {
namespace {

const CollectiveRegistration barrier({
    .name = "barrier",
    .title = "no rank leaves before all have come",
    .has_data = false,
    .layout = [](const Circle &, std::uint64_t) { return Layout{}; },
    .forms = make_forms<MPI_Barrier, MPI_Ibarrier>("MPI_Barrier_init",
                                                   [](const Call &c) { return std::make_tuple(c.comm); }),
});

}  // namespace
}  // namespace sluice::bench
