// SPDX-License-Identifier: BSD-3-Clause
// Collective operations that the ranks of a node carry out together over IPC: that they do, that all decide alike, that
// nobody waits for ever, and that nothing is left behind. Started with SLUICE_COLL_IPC=always, a threshold of 0 and
// statistics; the results themselves are compared by all the other tests of this program, started the same way.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/ranks/coll/moving.hpp"

namespace sluice::tests::together_test {
namespace {

void expect_pulled(Kind kind) {
  const Session &session = Session::get();
  for (const Moving &moving : movements()) {
    for (int root = 0; root < session.size(); ++root) {
      const Buffers buffers(kind, root);
      const long long before = calls_by(moving.name, "ipc");
      ASSERT_GE(before, 0) << "no statistics";
      ASSERT_EQ(moving.call(buffers, root, session.comm()), MPI_SUCCESS) << moving.name;
      EXPECT_GT(calls_by(moving.name, "ipc"), before) << moving.name << " was not carried out together";
      expect_right(moving, buffers, root, root);
    }
  }
}

TEST_F(Together, PullsOverIpc_WhenAllHaveDeviceMemory) {
  expect_pulled(Kind::device);
}

// Which no other process can map: what a rank offers is copied into device memory of Sluice's own.
TEST_F(Together, PullsOverIpc_WhenAllHaveSharedMemory) {
  if (!session_.has_kind(Kind::shared)) GTEST_SKIP() << "missing: shared memory";
  expect_pulled(Kind::shared);
}

TEST_F(Together, StagesEverywhere_WhenOneRankHasHostMemory) {
  const int last = session_.size() - 1;
  for (const Moving &moving : movements()) {
    const Buffers buffers(session_.rank() == last ? Kind::host : Kind::device, 1);
    const long long before = calls_by(moving.name, "ipc");
    ASSERT_EQ(moving.call(buffers, 0, session_.comm()), MPI_SUCCESS) << moving.name;
    EXPECT_EQ(calls_by(moving.name, "ipc"), before) << moving.name;
    expect_right(moving, buffers, 0, 1);
  }
}

// Whole pages, so that what the others have mapped here lies side by side, and a round's memory where the last one's
// was. The blocks are neighbours at the destination too: a copy over two of them would leave its allocation.
TEST_F(Together, CopiesEachRanksBlockAlone_WhenMappingsAreNeighbors) {
  constexpr std::size_t kBlock = 128 << 10;
  const auto n_ranks = static_cast<std::size_t>(session_.size());
  std::vector<int> counts(n_ranks, static_cast<int>(kBlock));
  std::vector<int> places;
  for (std::size_t rank = 0; rank < n_ranks; ++rank) places.push_back(static_cast<int>(rank * kBlock));
  const long long before = calls_by("MPI_Allgatherv", "ipc");
  for (int round = 0; round < 30; ++round) {
    const Memory in(session_.module(), Kind::device, kBlock - kGuardBytes);
    const Memory out(session_.module(), Kind::device, kBlock * n_ranks - kGuardBytes);
    in.fill_pattern(session_.rank(), round);
    ASSERT_EQ(MPI_Allgatherv(in.data(), counts[0], MPI_BYTE, out.data(), counts.data(), places.data(), MPI_BYTE,
                             session_.comm()),
              MPI_SUCCESS)
        << "round " << round;
    for (std::size_t rank = 0; rank < n_ranks; ++rank) {
      const Bytes block = out.read(rank * kBlock, kBlock - kGuardBytes);
      ASSERT_EQ(find_pattern_error(block, static_cast<int>(rank), round), "") << "round " << round;
    }
  }
  EXPECT_GE(calls_by("MPI_Allgatherv", "ipc"), before + 30);
}

// A peer's send of host memory, too long to be sent before it is received, comes before its part of the call; and one
// of device memory.
TEST_F(Together, LetsMessagesMove_WhileItWaits) {
  constexpr int kLong = 8 << 20;
  if (session_.size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks";
  for (const Kind kind : {Kind::host, Kind::device}) {
    const Memory message(session_.module(), kind, kLong);
    const Buffers buffers(Kind::device, 2);
    MPI_Request request = MPI_REQUEST_NULL;
    if (session_.begins()) {
      message.fill_pattern(session_.rank(), 3);
      ASSERT_EQ(MPI_Ssend(message.data(), kLong, MPI_BYTE, session_.partner(), 1, session_.comm()), MPI_SUCCESS);
    } else {
      ASSERT_EQ(MPI_Irecv(message.data(), kLong, MPI_BYTE, session_.partner(), 1, session_.comm(), &request),
                MPI_SUCCESS);
    }
    for (const Moving &moving : movements()) {
      ASSERT_EQ(moving.call(buffers, 0, session_.comm()), MPI_SUCCESS) << moving.name;
      expect_right(moving, buffers, 0, 2);
    }
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (!session_.begins()) {
      EXPECT_EQ(find_pattern_error(message.read(), session_.partner(), 3), "");
    }
  }
}

// With a fault in force on one rank: its copy fails, once. All get an error, and the next calls work.
TEST_F(Together, ReturnsAnErrorEverywhere_WhenACopyFails) {
  const auto exchange = [&](int round) {
    const Buffers buffers(Kind::device, round);
    const int code = MPI_Allgather(buffers.in.data(), kBlockCount, MPI_BYTE, buffers.out.data(), kBlockCount, MPI_BYTE,
                                   session_.comm());
    if (code == MPI_SUCCESS) expect_right(movement("MPI_Allgather"), buffers, 0, round);
    return code;
  };
  EXPECT_NE(exchange(0), MPI_SUCCESS);
  EXPECT_EQ(exchange(1), MPI_SUCCESS);
  EXPECT_EQ(exchange(2), MPI_SUCCESS);
}

// The root's memory is gone: it says so, and nobody waits for it.
TEST_F(Together, ReturnsAnErrorEverywhere_WhenARanksMemoryWasFreed) {
  void *gone = nullptr;
  {
    const Memory freed(session_.module(), Kind::device, kBlockBytes);
    gone = freed.data();
  }
  const Memory there(session_.module(), Kind::device, kBlockBytes * 2);
  const bool is_reused = gone >= there.data() && gone < there.at(there.size_bytes());
  if (session_.agree_any(session_.rank() == 0 && is_reused)) GTEST_SKIP() << "the address was used again at once";
  void *buffer = session_.rank() == 0 ? gone : there.data();
  EXPECT_NE(MPI_Bcast(buffer, kBlockCount, MPI_BYTE, 0, session_.comm()), MPI_SUCCESS);
  const Buffers buffers(Kind::device, 4);
  EXPECT_EQ(movements().front().call(buffers, 0, session_.comm()), MPI_SUCCESS);
  expect_right(movements().front(), buffers, 0, 4);
}

struct Held {
  std::size_t files = 0;
  std::size_t mappings = 0;
  std::size_t segments = 0;
};

Held held() {
  Held now;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) ++now.files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    ++now.mappings;
    now.segments += line.find("/memfd:sluice") != line.npos ? 1 : 0;
  }
  return now;
}

std::size_t named_segments() {
  std::size_t n = 0;
  for (const auto &entry : std::filesystem::directory_iterator("/dev/shm")) {
    n += entry.path().filename().string().find("sluice-") == 0 ? 1 : 0;
  }
  return n;
}

TEST_F(Together, LeavesNothingBehind_WhenCommunicatorsComeAndGo) {
  // Every cycle is a row of hand-overs between the ranks, each of which waits for a core where there are fewer: on a
  // busy machine a quarter of a second in all. From the first quarter on, nothing may grow.
  const int n_cycles = session_.options().is_full ? 10'000 : 120;
  const Buffers buffers(Kind::device, 5);
  Held before;
  for (int cycle = 0; cycle < n_cycles; ++cycle) {
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
    const long long calls = calls_by("MPI_Bcast", "ipc");
    ASSERT_EQ(movements().front().call(buffers, cycle % session_.size(), comm), MPI_SUCCESS);
    ASSERT_GT(calls_by("MPI_Bcast", "ipc"), calls) << "cycle " << cycle;
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    if (cycle == n_cycles / 4) before = held();
  }
  const Held after = held();
  EXPECT_LE(after.files, before.files + 2);
  EXPECT_LE(after.segments, before.segments);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // those map memory of their own as they go
  EXPECT_LE(after.mappings, before.mappings + 16);
#endif
  MPI_Barrier(session_.comm());
  // Of this user's other jobs there may be some, for a moment; ours would be many.
  EXPECT_LT(named_segments(), static_cast<std::size_t>(n_cycles) / 4);
}

// Each thread in a communicator of its own.
TEST_F(Together, KeepsThreadsApart_InCommunicatorsOfTheirOwn) {
  if (!session_.options().wants_threads) GTEST_SKIP() << "started without --threads";
  constexpr std::size_t kThreads = 3;
  const int n_rounds = session_.options().is_full ? 300 : 40;
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm &comm : comms) ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < n_rounds; ++round) {
        const auto which = (static_cast<std::size_t>(round) + thread) % movements().size();
        const int root = round % session_.size();
        const Buffers buffers(Kind::device, round);
        EXPECT_EQ(movements()[which].call(buffers, root, comms[thread]), MPI_SUCCESS);
        expect_right(movements()[which], buffers, root, round);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (MPI_Comm &comm : comms) EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::together_test
