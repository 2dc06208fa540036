// SPDX-License-Identifier: BSD-3-Clause
// The tests there are.
#include "bench/catalogue.hpp"

#include <array>

#include "bench/micro/memcpy.hpp"
#include "bench/p2p/p2p.hpp"

namespace sluice::bench {
namespace {

using RunFunction = void (*)(Session &);

constexpr std::array kTests{
    TestInfo{.name = "latency", .title = "ping-pong between two ranks", .metric = Metric::latency_us},
    TestInfo{.name = "bw",
             .title = "one-way bandwidth, a window of messages in flight",
             .metric = Metric::bandwidth_mbps,
             .min_size = 1},
    TestInfo{.name = "bibw",
             .title = "two-way bandwidth, a window of messages in flight each way",
             .metric = Metric::bandwidth_mbps,
             .min_size = 1},
    TestInfo{.name = "memcpy",
             .title = "copies between a device and the four staging memories, on rank 0",
             .metric = Metric::copy_us,
             .n_ranks = 0,
             .min_size = 1,
             .has_placement = false,
             .needs_device = true},
};
constexpr std::array<RunFunction, kTests.size()> kRun{run_latency, run_bandwidth, run_bidirectional_bandwidth,
                                                      run_memcpy};

}  // namespace

std::span<const TestInfo> query_tests() {
  return kTests;
}

void run_test(Session &session) {
  const auto index = static_cast<std::size_t>(session.options().test - kTests.data());
  kRun.at(index)(session);
}

}  // namespace sluice::bench
