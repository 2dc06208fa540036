// SPDX-License-Identifier: BSD-3-Clause
// mbw_mr and message_rate: the window test of bw between all pairs at once, as osu_mbw_mr: bytes and messages of all
// pairs together, over the time of the slowest pair in each iteration.
#include "bench/p2p/bandwidth.hpp"

namespace sluice::bench {
namespace {

constexpr double kMega = 1e6;

struct Bandwidth : OneWay<PlainCalls> {
  static std::vector<ExtraColumn> extra_columns() { return {{"messages_per_s", "Messages/s"}}; }
  static std::vector<double> extras(const Summary &result, std::uint64_t size) {
    return {result.mean * kMega / static_cast<double>(size)};
  }
};

struct MessageRate : OneWay<PlainCalls> {
  static Summary result(const Summary &times_us, std::uint64_t, std::size_t window, int n_ranks) {
    const int n_pairs = n_ranks / 2;
    return rate_of(times_us, kMega * static_cast<double>(window) * n_pairs);
  }
  static std::vector<ExtraColumn> extra_columns() { return {{"mbps", "MB/s"}}; }
  static std::vector<double> extras(const Summary &result, std::uint64_t size) {
    return {result.mean * static_cast<double>(size) / kMega};
  }
};

const Registration mbw_mr(pair_test<Bandwidth>({.name = "mbw_mr",
                                                .title = "bandwidth and message rate of all pairs at once",
                                                .metric = Metric::bandwidth_mbps,
                                                .max_ranks = 0,
                                                .is_paired = true,
                                                .min_size = 1}));
const Registration message_rate(pair_test<MessageRate>({.name = "message_rate",
                                                        .title = "messages a second of all pairs at once",
                                                        .metric = Metric::rate_per_s,
                                                        .max_ranks = 0,
                                                        .is_paired = true,
                                                        .default_range = "8:4096"}));

}  // namespace
}  // namespace sluice::bench
