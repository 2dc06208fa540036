// SPDX-License-Identifier: BSD-3-Clause
// latency_mt: -t threads of rank 0, each in a ping-pong with a thread of rank 1 under a tag of its own. The figure is
// half the round trip of the slowest thread in each iteration.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "bench/p2p/latency.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

// Runs body(thread) in n threads at once. An error ends the run here: the other threads may be waiting for a message
// that will not come.
template <class Body>
void in_threads(std::size_t n, Body body) {
  std::vector<std::thread> threads;
  threads.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    threads.emplace_back([&body, i] {
      const std::string error = error_of([&] { body(i); });
      if (!error.empty()) {
        std::fprintf(stderr, "sluice-bench: thread %zu: %s\n", i, error.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

struct ThreadedPingPong : PingPong<PlainCalls> {
  static constexpr std::size_t kSingleBuffers = SIZE_MAX;  // threads share none
  static std::size_t window(const Options &options) { return static_cast<std::size_t>(options.family.n_threads); }

  static Traffic traffic(const Party &party, std::size_t n_threads) {
    Traffic traffic = PingPong<PlainCalls>::traffic(party, n_threads);
    for (std::size_t i = 0; i < n_threads; ++i) {
      traffic.send[i].tag += static_cast<int>(i);
      traffic.recv[i].tag += static_cast<int>(i);
    }
    return traffic;
  }

  template <class Route>
  static void answer(Route &route, const Party &party, std::size_t thread) {
    if (party.rank == 0) {
      route.send(thread);
      route.recv(thread);
    } else {
      route.recv(thread);
      route.send(thread);
    }
  }

  static void meet_partner(const Party &party, std::size_t thread) {
    constexpr int kFirstMeetingTag = 5000;  // beyond those of the messages
    const int peer = 1 - party.rank;
    const int tag = kFirstMeetingTag + static_cast<int>(thread);
    check_mpi(MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer, tag, nullptr, 0, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
  }

  template <class Route>
  static void iterate(Route &route, const Party &party) {
    in_threads(route.n_sends(), [&](std::size_t thread) { answer(route, party, thread); });
  }

  // Each thread takes the routes in turn, and begins when its partner is there: what it takes to start a thread is in
  // no figure.
  template <class Route>
  static std::vector<double> sample(const Loop &loop, const std::vector<Route *> &routes, const Party &party) {
    std::vector<std::vector<double>> samples(routes.front()->n_sends());
    in_threads(samples.size(), [&](std::size_t thread) {
      meet_partner(party, thread);
      std::size_t turn = 0;
      samples[thread] = sample_us(loop, [&] {
        answer(*routes[turn], party, thread);
        turn = turn + 1 == routes.size() ? 0 : turn + 1;
      });
    });
    std::vector<double> slowest = samples.front();
    for (const std::vector<double> &one : samples) {
      std::transform(one.begin(), one.end(), slowest.begin(), slowest.begin(),
                     [](double a, double b) { return std::max(a, b); });
    }
    return slowest;
  }
};

void run_threads(Session &session) {
  const int n_threads = session.options().family.n_threads;
  if (n_threads < 1) {
    throw AgreedError("latency_mt needs at least one thread of each rank: -t 2");
  }
  if (session.options().route != Route::direct) {
    throw AgreedError("latency_mt has no form that is done by hand: a device module serves one thread");
  }
  const bool is_refused = session.world().thread_level() < MPI_THREAD_MULTIPLE;
  session.world().agree(is_refused ? "latency_mt: this MPI does not let several threads call it" : "");
  session.add_note(std::to_string(n_threads) + " threads on each rank");
  sweep<ThreadedPingPong>(session);
}

const Registration latency_mt(pair_test<ThreadedPingPong>({.name = "latency_mt",
                                                           .title = "ping-pong of several threads at once (-t)",
                                                           .needs_threads = true,
                                                           .run = run_threads}));

}  // namespace
}  // namespace sluice::bench
