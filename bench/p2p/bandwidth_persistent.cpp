// SPDX-License-Identifier: BSD-3-Clause
// bw_persistent and bibw_persistent: windows of persistent requests, as osu_bw_persistent and osu_bibw_persistent.
#include "bench/p2p/bandwidth.hpp"

namespace sluice::bench {
namespace {

const Registration bw_persistent({.name = "bw_persistent",
                                  .title = "one-way bandwidth with persistent requests",
                                  .metric = Metric::bandwidth_mbps,
                                  .min_size = 1,
                                  .run = sweep<OneWay<PersistentCalls>>});
const Registration bibw_persistent({.name = "bibw_persistent",
                                    .title = "two-way bandwidth with persistent requests",
                                    .metric = Metric::bandwidth_mbps,
                                    .min_size = 1,
                                    .run = sweep<BothWays<PersistentCalls>>});

}  // namespace
}  // namespace sluice::bench
