// SPDX-License-Identifier: BSD-3-Clause
// The program's own non-blocking calls on host memory, beside the first ones on device memory of their communicator.
#include <gtest/gtest.h>

#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/support/given_setting.hpp"

namespace sluice::tests::beside_requests_test {
namespace {

// The ranks agree at times of their own what becomes of the first ones; the program's calls on host memory go on
// meanwhile, on the same communicator.
TEST(BesideRequests, NothingIsDisturbed_WhileTheRanksAgree) {
  const Session &session = Session::get();
  if (given_setting("coll_ipc_threshold") != "0" || session.size() < 2) {
    GTEST_SKIP() << "not started with coll_ipc_threshold=0, or with one rank";
  }
  constexpr int kRounds = 40;
  constexpr std::size_t kBeside = 6;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm comm = MPI_COMM_WORLD;  // and then others
    if (round % 3 == 1) {
      ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    } else if (round > 0) {
      MPI_Request made = MPI_REQUEST_NULL;
      ASSERT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &made), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&made, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    const Moving &first = movement("MPI_Allgather");
    const Buffers buffers(Kind::device, round);
    std::vector<MPI_Request> requests(kBeside + 1, MPI_REQUEST_NULL);
    ASSERT_EQ(first.start(buffers, 0, comm, &requests[0]), MPI_SUCCESS);
    std::vector<std::vector<int>> sums;
    std::vector<int> own(kBeside);
    for (std::size_t i = 0; i < kBeside; ++i) {
      // Some ranks come further with the first one than others before they start the next.
      for (int turn = 0; turn < (session.rank() * 7 + round + static_cast<int>(i)) % 5; ++turn) {
        int is_there = 0;
        ASSERT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, 1, session.comm(), &is_there, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      own[i] = round * 1000 + static_cast<int>(i) * 10 + session.rank();
      sums.emplace_back(i % 2 == 0 ? 1 : static_cast<std::size_t>(session.size()), -1);
      if (i % 2 == 0) {
        ASSERT_EQ(MPI_Iallreduce(&own[i], sums[i].data(), 1, MPI_INT, MPI_MAX, comm, &requests[i + 1]), MPI_SUCCESS);
      } else {
        ASSERT_EQ(MPI_Iallgather(&own[i], 1, MPI_INT, sums[i].data(), 1, MPI_INT, comm, &requests[i + 1]), MPI_SUCCESS);
      }
    }
    ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    expect_right(first, buffers, 0, round);
    for (std::size_t i = 0; i < kBeside; ++i) {
      const int base = round * 1000 + static_cast<int>(i) * 10;
      for (std::size_t k = 0; k < sums[i].size(); ++k) {
        const int wanted = base + (i % 2 == 0 ? session.size() - 1 : static_cast<int>(k));
        ASSERT_EQ(sums[i][k], wanted) << "round " << round << ", call " << i << ", number " << k;
      }
    }
    if (round > 0) {
      ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    }
  }
}

}  // namespace
}  // namespace sluice::tests::beside_requests_test
