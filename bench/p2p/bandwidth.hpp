// SPDX-License-Identifier: BSD-3-Clause
// Windows of non-blocking messages, which the bandwidth tests share. The receiver answers each window with a short
// message; it always lies in host memory, so that the figure holds the payload's way alone.
#pragma once

#include "bench/p2p/sweep.hpp"

namespace sluice::bench {

// OSU's numbers of iterations.
Loop window_loop(std::uint64_t size_bytes);
// The short message at the end of a window.
void send_answer(int peer);
void receive_answer(int peer);

template <class Route>
void send_window(Route &route) {
  for (std::size_t slot = 0; slot < route.n_sends(); ++slot) {
    route.start_send(slot);
  }
}
template <class Route>
void receive_window(Route &route) {
  for (std::size_t slot = 0; slot < route.n_recvs(); ++slot) {
    route.start_recv(slot);
  }
}

struct WindowTest : PairTest {
  static std::size_t window(const Options &options) { return options.window; }
  static Loop default_loop(std::uint64_t size_bytes) { return window_loop(size_bytes); }
};

// The lower half of the ranks sends, the upper half receives.
template <class SomeWay>
struct OneWay : WindowTest, TimedByOneThread<OneWay<SomeWay>> {
  using Way = SomeWay;

  static Traffic traffic(const Party &party, std::size_t window) {
    const std::vector<Lane> lanes = lanes_with(partner_of(party.rank, party.n_ranks), window);
    return is_lower(party.rank, party.n_ranks) ? Traffic{lanes, {}} : Traffic{{}, lanes};
  }

  template <class Route>
  static void iterate(Route &route, const Party &party) {
    const int partner = partner_of(party.rank, party.n_ranks);
    if (is_lower(party.rank, party.n_ranks)) {
      send_window(route);
      route.finish_sends();
      receive_answer(partner);
    } else {
      receive_window(route);
      route.finish_recvs();
      send_answer(partner);
    }
  }

  static Summary result(const Summary &times_us, std::uint64_t size_bytes, std::size_t window, int n_ranks) {
    const int n_pairs = n_ranks / 2;
    return rate_of(times_us, static_cast<double>(size_bytes) * static_cast<double>(window) * n_pairs);
  }
};

template <class SomeWay>
struct BothWays : WindowTest, TimedByOneThread<BothWays<SomeWay>> {
  using Way = SomeWay;

  static Traffic traffic(const Party &party, std::size_t window) {
    const std::vector<Lane> lanes = lanes_with(partner_of(party.rank, party.n_ranks), window);
    return {lanes, lanes};
  }

  template <class Route>
  static void iterate(Route &route, const Party &) {
    receive_window(route);
    send_window(route);
    route.finish_sends();
    route.finish_recvs();
  }

  static Summary result(const Summary &times_us, std::uint64_t size_bytes, std::size_t window, int n_ranks) {
    return rate_of(times_us, static_cast<double>(size_bytes) * static_cast<double>(window) * n_ranks);
  }
};

}  // namespace sluice::bench
