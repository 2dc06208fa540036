// SPDX-License-Identifier: BSD-3-Clause
// partitioned_latency: a ping-pong with partitioned messages (-q), all partitions made ready one after the other by one
// thread, as osu_partitioned_latency. Where the size cannot be divided evenly, fewer partitions are used.
#include "bench/p2p/latency.hpp"
#include "bench/p2p/partitioned_calls.hpp"

namespace sluice::bench {
namespace {

const Registration partitioned_latency(pair_test<PingPong<PartitionedCalls>>(
    {.name = "partitioned_latency", .title = "ping-pong with partitioned messages of MPI-4", .min_size = 1}));

}  // namespace
}  // namespace sluice::bench
