// SPDX-License-Identifier: BSD-3-Clause
// bw and bibw: windows of non-blocking messages between two ranks, as osu_bw and osu_bibw.
#include "bench/p2p/bandwidth.hpp"

namespace sluice::bench {
namespace {

constexpr int kAnswerTag = 99;
constexpr int kAnswerBytes = 4;

}  // namespace

Loop window_loop(std::uint64_t size_bytes) {
  constexpr std::uint64_t kLargeMessage = 8192;  // OSU: from above this size on, fewer iterations
  return size_bytes > kLargeMessage ? Loop{.warmup = 2, .iterations = 20} : Loop{.warmup = 10, .iterations = 100};
}

void send_answer(int peer) {
  const char answer[kAnswerBytes] = {};
  check_mpi(MPI_Send(answer, kAnswerBytes, MPI_CHAR, peer, kAnswerTag, MPI_COMM_WORLD), "MPI_Send");
}

void receive_answer(int peer) {
  char answer[kAnswerBytes] = {};
  check_mpi(MPI_Recv(answer, kAnswerBytes, MPI_CHAR, peer, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
}

namespace {

const Registration bw(pair_test<OneWay<PlainCalls>>({.name = "bw",
                                                     .title = "one-way bandwidth, a window of messages in flight",
                                                     .metric = Metric::bandwidth_mbps,
                                                     .min_size = 1}));
const Registration bibw(
    pair_test<BothWays<PlainCalls>>({.name = "bibw",
                                     .title = "two-way bandwidth, a window of messages in flight each way",
                                     .metric = Metric::bandwidth_mbps,
                                     .min_size = 1}));

}  // namespace
}  // namespace sluice::bench
