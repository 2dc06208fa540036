// SPDX-License-Identifier: BSD-3-Clause
// latency: a ping-pong. The figure is half the round trip, as in osu_latency.
#include "bench/p2p/p2p.hpp"
#include "bench/p2p/sweep.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kLargeMessage = 8192;  // OSU: from above this size on, fewer iterations

struct Latency {
  static bool sends(int) { return true; }
  static bool receives(int) { return true; }
  static std::size_t n_slots(const Options &) { return 1; }

  static Loop default_loop(std::uint64_t size_bytes) {
    return size_bytes > kLargeMessage ? Loop{.warmup = 10, .iterations = 1000}
                                      : Loop{.warmup = 100, .iterations = 10000};
  }

  template <class Route>
  static void iterate(Route &route, int rank, std::size_t) {
    if (rank == 0) {
      route.send(0);
      route.recv(0);
    } else {
      route.recv(0);
      route.send(0);
    }
  }

  static Summary result(Summary round_trip_us, std::uint64_t, std::size_t) {
    for (double *value : {&round_trip_us.mean, &round_trip_us.median, &round_trip_us.min, &round_trip_us.max,
                          &round_trip_us.p99, &round_trip_us.stddev}) {
      *value /= 2;
    }
    for (double &value : round_trip_us.percentiles) {
      value /= 2;
    }
    return round_trip_us;
  }
};

}  // namespace

void run_latency(Session &session) {
  Sweep<Latency>(session).run();
}

}  // namespace sluice::bench
