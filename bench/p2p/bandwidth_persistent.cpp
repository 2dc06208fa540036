// SPDX-License-Identifier: BSD-3-Clause
// bw_persistent and bibw_persistent: windows of persistent requests, as osu_bw_persistent and osu_bibw_persistent.
#include "bench/p2p/bandwidth.hpp"

namespace sluice::bench {
namespace {

const Registration bw_persistent(
    pair_test<OneWay<PersistentCalls>>({.name = "bw_persistent",
                                        .title = "one-way bandwidth with persistent requests",
                                        .metric = Metric::bandwidth_mbps,
                                        .min_size = 1}));
const Registration bibw_persistent(
    pair_test<BothWays<PersistentCalls>>({.name = "bibw_persistent",
                                          .title = "two-way bandwidth with persistent requests",
                                          .metric = Metric::bandwidth_mbps,
                                          .min_size = 1}));

}  // namespace
}  // namespace sluice::bench
