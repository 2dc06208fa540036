// SPDX-License-Identifier: BSD-3-Clause
// The ping-pong that latency, latency_persistent, latency_mt, multi_lat and partitioned_latency share. The figure is
// half the round trip, as in osu_latency.
#pragma once

#include "bench/p2p/sweep.hpp"

namespace sluice::bench {

// Half of everything.
Summary halved(Summary round_trip_us);
// OSU's numbers of iterations.
Loop latency_loop(std::uint64_t size_bytes);

template <class SomeWay>
struct PingPong : PairTest, TimedByOneThread<PingPong<SomeWay>> {
  using Way = SomeWay;
  static Loop default_loop(std::uint64_t size_bytes) { return latency_loop(size_bytes); }

  static Traffic traffic(const Party &party, std::size_t window) {
    const int partner = partner_of(party.rank, party.n_ranks);
    return {lanes_with(partner, window), lanes_with(partner, window)};
  }

  template <class Route>
  static void iterate(Route &route, const Party &party) {
    if (is_lower(party.rank, party.n_ranks)) {
      route.send(0);
      route.recv(0);
    } else {
      route.recv(0);
      route.send(0);
    }
  }

  static Summary result(const Summary &round_trip_us, std::uint64_t, std::size_t, int) { return halved(round_trip_us); }
};

}  // namespace sluice::bench
