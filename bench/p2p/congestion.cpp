// SPDX-License-Identifier: BSD-3-Clause
// bw_fan_in and bw_fan_out: a window from each rank to rank 0 at once, and from rank 0 to each. The figure is what
// passes rank 0, by its clock.
#include "bench/p2p/bandwidth.hpp"

namespace sluice::bench {
namespace {

struct Congestion : WindowTest {
  static bool leads(const Party &party) { return party.rank == 0; }
  static Summary result(const Summary &times_us, std::uint64_t size_bytes, std::size_t window, int n_ranks) {
    return rate_of(times_us, static_cast<double>(size_bytes) * static_cast<double>(window) * (n_ranks - 1));
  }
};

struct FanIn : Congestion, TimedByOneThread<FanIn> {
  static Traffic traffic(const Party &party, std::size_t window) {
    if (party.rank != 0) {
      return {lanes_with(0, window), {}};
    }
    Traffic traffic;
    for (std::uint64_t message = 0; message < window; ++message) {
      for (int peer = 1; peer < party.n_ranks; ++peer) {
        traffic.recv.push_back({peer, kMessageTag, message});
      }
    }
    return traffic;
  }

  template <class Route>
  static void iterate(Route &route, const Party &party) {
    if (party.rank != 0) {
      send_window(route);
      route.finish_sends();
      receive_answer(0);
      return;
    }
    receive_window(route);
    route.finish_recvs();
    for (int peer = 1; peer < party.n_ranks; ++peer) {
      send_answer(peer);
    }
  }
};

struct FanOut : Congestion, TimedByOneThread<FanOut> {
  static Traffic traffic(const Party &party, std::size_t window) {
    const auto n_others = static_cast<std::uint64_t>(party.n_ranks - 1);
    Traffic traffic;
    for (std::uint64_t message = 0; message < window; ++message) {
      if (party.rank != 0) {
        traffic.recv.push_back({0, kMessageTag, message * n_others + static_cast<std::uint64_t>(party.rank - 1)});
        continue;
      }
      for (int peer = 1; peer < party.n_ranks; ++peer) {
        traffic.send.push_back({peer, kMessageTag, message * n_others + static_cast<std::uint64_t>(peer - 1)});
      }
    }
    return traffic;
  }

  template <class Route>
  static void iterate(Route &route, const Party &party) {
    if (party.rank != 0) {
      receive_window(route);
      route.finish_recvs();
      send_answer(0);
      return;
    }
    send_window(route);
    route.finish_sends();
    for (int peer = 1; peer < party.n_ranks; ++peer) {
      receive_answer(peer);
    }
  }
};

const Registration fan_in(pair_test<FanIn>({.name = "bw_fan_in",
                                            .title = "bandwidth into rank 0 from all other ranks at once",
                                            .family = Family::fan,
                                            .metric = Metric::bandwidth_mbps,
                                            .max_ranks = 0,
                                            .min_size = 1}));
const Registration fan_out(pair_test<FanOut>({.name = "bw_fan_out",
                                              .title = "bandwidth out of rank 0 to all other ranks at once",
                                              .family = Family::fan,
                                              .metric = Metric::bandwidth_mbps,
                                              .max_ranks = 0,
                                              .min_size = 1}));

}  // namespace
}  // namespace sluice::bench
