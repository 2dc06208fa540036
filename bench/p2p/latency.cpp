// SPDX-License-Identifier: BSD-3-Clause
// latency and multi_lat: a ping-pong with blocking calls, of one pair and of all pairs at once.
#include "bench/p2p/latency.hpp"

namespace sluice::bench {

Summary halved(Summary round_trip_us) {
  for (double *value :
       {&round_trip_us.mean, &round_trip_us.median, &round_trip_us.min, &round_trip_us.max, &round_trip_us.p99,
        &round_trip_us.stddev, &round_trip_us.median_low, &round_trip_us.median_high}) {
    *value /= 2;
  }
  for (double &value : round_trip_us.percentiles) {
    value /= 2;
  }
  return round_trip_us;
}

Loop latency_loop(std::uint64_t size_bytes) {
  constexpr std::uint64_t kLargeMessage = 8192;  // OSU: from above this size on, fewer iterations
  return size_bytes > kLargeMessage ? Loop{.warmup = 10, .iterations = 1000} : Loop{.warmup = 100, .iterations = 10000};
}

namespace {

using Plain = PingPong<PlainCalls>;

const Registration latency(pair_test<Plain>({.name = "latency", .title = "ping-pong between two ranks"}));
const Registration multi_lat(
    pair_test<Plain>({.name = "multi_lat",
                      .title = "ping-pong of all pairs at once; the slowest pair of each iteration",
                      .max_ranks = 0,
                      .is_paired = true}));

}  // namespace
}  // namespace sluice::bench
