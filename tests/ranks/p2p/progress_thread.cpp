// SPDX-License-Identifier: BSD-3-Clause
// SLUICE_PROGRESS_THREAD: messages arrive while neither rank is in MPI, and while one sits in a call that serves
// nobody. Without it they do not: NoProgressThread shows that these tests can fail.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "tests/support/oracle.hpp"

namespace sluice::tests::progress_thread_test {
namespace {

constexpr int kTag = 97;
constexpr std::size_t kSizes[] = {4096, 300'000, 4'000'000};

// Steps of two ranks that must not call MPI: a counter in memory that both see.
class Steps {
 public:
  explicit Steps(MPI_Comm comm) {
    void *mine = nullptr;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Win_allocate_shared(rank == 0 ? sizeof(Counter) : 0, 1, MPI_INFO_NULL, comm, &mine, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    void *shared = nullptr;
    MPI_Win_shared_query(window_, 0, &size, &unit, &shared);
    counter_ = rank == 0 ? new (shared) Counter(0) : static_cast<Counter *>(shared);
    MPI_Barrier(comm);
  }
  ~Steps() { MPI_Win_free(&window_); }
  Steps(const Steps &) = delete;
  Steps &operator=(const Steps &) = delete;
  Steps(Steps &&) = delete;
  Steps &operator=(Steps &&) = delete;

  void reach(int step) { counter_->store(step); }
  // Busy, as a program that computes is.
  void wait_for(int step) const {
    while (counter_->load() < step) {
    }
  }

 private:
  using Counter = std::atomic<int>;
  MPI_Win window_ = MPI_WIN_NULL;
  Counter *counter_ = nullptr;
};

bool has_progress_thread() {
  const char *value = std::getenv("SLUICE_PROGRESS_THREAD");
  return value != nullptr && std::string_view(value) == "1";
}

class ProgressTest : public testing::Test {
 protected:
  explicit ProgressTest(bool wants_thread) : wants_thread_(wants_thread) {}
  void SetUp() override {
    const Session &session = Session::get();
    if (!session.has_sluice() || !session.has_kind(Kind::device) || session.size() != 2 ||
        has_progress_thread() != wants_thread_) {
      GTEST_SKIP() << "needs Sluice, device memory, 2 ranks and SLUICE_PROGRESS_THREAD=" << wants_thread_;
    }
  }

  // Rank 0 sends to rank 1; from the moment that the receive is posted, rank 1 is not in MPI, nor rank 0 once it has
  // sent. Calls `while_away` on rank 1 then, and completes the message.
  template <typename WhileAway>
  static void send_to_absent(std::size_t size_bytes, int iteration, WhileAway while_away) {
    const Session &session = Session::get();
    Steps steps(session.comm());
    const int count = static_cast<int>(size_bytes);
    const Memory memory(session.module(), Kind::device, size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    if (session.rank() == 0) {
      memory.fill_pattern(0, iteration);
      steps.wait_for(1);
      ASSERT_EQ(MPI_Isend(memory.data(), count, MPI_BYTE, 1, kTag, session.comm(), &request), MPI_SUCCESS);
      steps.reach(2);
      steps.wait_for(3);
    } else {
      memory.fill(kPoison);
      ASSERT_EQ(MPI_Irecv(memory.data(), count, MPI_BYTE, 0, kTag, session.comm(), &request), MPI_SUCCESS);
      steps.reach(1);
      steps.wait_for(2);
      while_away(memory);
      steps.reach(3);
    }
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (session.rank() == 1) {
      EXPECT_EQ(find_pattern_error(memory.read(), 0, iteration), "");
    }
  }

 private:
  bool wants_thread_;
};

class ProgressThread : public ProgressTest {
 protected:
  ProgressThread() : ProgressTest(true) {}
};

class NoProgressThread : public ProgressTest {
 protected:
  NoProgressThread() : ProgressTest(false) {}
};

TEST_F(ProgressThread, DeliversWhileBothProgramsCompute) {
  int iteration = 0;
  for (const std::size_t size_bytes : kSizes) {
    for (int round = 0; round < 5; ++round, ++iteration) {
      send_to_absent(size_bytes, iteration, [&](const Memory &memory) {
        while (!find_pattern_error(memory.read(), 0, iteration).empty()) {
        }
      });
    }
  }
}

TEST_F(NoProgressThread, NothingArrivesWhileTheProgramComputes) {
  send_to_absent(4096, 0, [&](const Memory &memory) {
    const Bytes poison(4096, kPoison);
    for (int look = 0; look < 100; ++look) EXPECT_EQ(memory.read(), poison);
  });
}

// Rank 0 holds a lock that rank 1 waits for, and sends to rank 1 before it gives it back.
TEST_F(ProgressThread, ServesASender_WhileTheReceiverWaitsForAWindow) {
  const Session &session = Session::get();
  constexpr int kCount = 300'000;
  void *base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate(64, 1, MPI_INFO_NULL, session.comm(), &base, &window), MPI_SUCCESS);
  const Memory memory(session.module(), Kind::device, kCount);
  for (int iteration = 0; iteration < 5; ++iteration) {
    if (session.rank() == 0) {
      memory.fill_pattern(0, iteration);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Barrier(session.comm());
      EXPECT_EQ(MPI_Ssend(memory.data(), kCount, MPI_BYTE, 1, kTag, session.comm()), MPI_SUCCESS);
      MPI_Win_unlock(0, window);
    } else {
      memory.fill(kPoison);
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(memory.data(), kCount, MPI_BYTE, 0, kTag, session.comm(), &request);
      MPI_Barrier(session.comm());
      const char value = 1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Put(&value, 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, window);
      MPI_Win_unlock(0, window);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(find_pattern_error(memory.read(), 0, iteration), "");
    }
    // Or rank 0 may have the lock again before rank 1 ever got it.
    MPI_Barrier(session.comm());
  }
  MPI_Win_free(&window);
}

}  // namespace
}  // namespace sluice::tests::progress_thread_test
