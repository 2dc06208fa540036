// SPDX-License-Identifier: BSD-3-Clause
// bw and bibw: windows of non-blocking messages, as osu_bw and osu_bibw. In bw the receiver answers each window with a
// short message; it always lies in host memory, so that the figure holds the payload's way alone.
#include "bench/p2p/p2p.hpp"
#include "bench/p2p/sweep.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kLargeMessage = 8192;  // OSU: from above this size on, fewer iterations
constexpr int kAnswerTag = 101;
constexpr int kAnswerBytes = 4;

Loop window_loop(std::uint64_t size_bytes) {
  return size_bytes > kLargeMessage ? Loop{.warmup = 2, .iterations = 20} : Loop{.warmup = 10, .iterations = 100};
}

struct OneWay {
  static bool sends(int rank) { return rank == 0; }
  static bool receives(int rank) { return rank == 1; }
  static std::size_t n_slots(const Options &options) { return options.window; }
  static Loop default_loop(std::uint64_t size_bytes) { return window_loop(size_bytes); }

  template <class Route>
  static void iterate(Route &route, int rank, std::size_t n_slots) {
    char answer[kAnswerBytes] = {};
    if (rank == 0) {
      for (std::size_t slot = 0; slot < n_slots; ++slot) {
        route.start_send(slot);
      }
      route.finish_sends();
      check_mpi(MPI_Recv(answer, kAnswerBytes, MPI_CHAR, 1, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    } else {
      for (std::size_t slot = 0; slot < n_slots; ++slot) {
        route.start_recv(slot);
      }
      route.finish_recvs();
      check_mpi(MPI_Send(answer, kAnswerBytes, MPI_CHAR, 0, kAnswerTag, MPI_COMM_WORLD), "MPI_Send");
    }
  }

  static Summary result(const Summary &times_us, std::uint64_t size_bytes, std::size_t n_slots) {
    return rate_of(times_us, static_cast<double>(size_bytes) * static_cast<double>(n_slots));
  }
};

struct BothWays {
  static bool sends(int) { return true; }
  static bool receives(int) { return true; }
  static std::size_t n_slots(const Options &options) { return options.window; }
  static Loop default_loop(std::uint64_t size_bytes) { return window_loop(size_bytes); }

  template <class Route>
  static void iterate(Route &route, int, std::size_t n_slots) {
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      route.start_recv(slot);
    }
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      route.start_send(slot);
    }
    route.finish_sends();
    route.finish_recvs();
  }

  static Summary result(const Summary &times_us, std::uint64_t size_bytes, std::size_t n_slots) {
    return rate_of(times_us, 2 * static_cast<double>(size_bytes) * static_cast<double>(n_slots));
  }
};

}  // namespace

void run_bandwidth(Session &session) {
  Sweep<OneWay>(session).run();
}

void run_bidirectional_bandwidth(Session &session) {
  Sweep<BothWays>(session).run();
}

}  // namespace sluice::bench
