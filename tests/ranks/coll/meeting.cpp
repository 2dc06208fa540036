// SPDX-License-Identifier: BSD-3-Clause
// Blocking collective calls before which the ranks of a node meet (docs/adr/0045): a process in one goes on serving its
// peers until all are there. More calls than it takes until they meet as shipped.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/support/host_mpi.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests::meeting_test {
namespace {

constexpr int kCalls = 80;
constexpr int kBytes = 300'007;
constexpr int kTag = 5;

// What a program may do after its MPI_Irecv and before its MPI_Wait: the sender comes to it when its message has gone.
template <typename Call>
void send_before(Call call) {
  const Session &session = Session::get();
  const Kind kind = session.has_kind(Kind::device) ? Kind::device : Kind::host;
  const Memory memory(session.module(), kind, kBytes);
  for (int i = 0; i < kCalls; ++i) {
    if (session.partner() >= session.size()) {  // the odd one out
      call(i);
      continue;
    }
    if (session.begins()) {
      memory.fill_pattern(session.rank(), i);
      ASSERT_EQ(MPI_Send(memory.data(), kBytes, MPI_BYTE, session.partner(), kTag, session.comm()), MPI_SUCCESS);
      call(i);
      continue;
    }
    memory.fill(kPoison);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Irecv(memory.data(), kBytes, MPI_BYTE, session.partner(), kTag, session.comm(), &request),
              MPI_SUCCESS);
    call(i);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(find_pattern_error(memory.read(), session.partner(), i), "") << "call " << i;
  }
}

int sum_of_ranks() {
  const int size = Session::get().size();
  return size * (size - 1) / 2;
}

}  // namespace

TEST(Meeting, ASendEnds_WhoseReceiverIsInABarrier) {
  send_before([](int) { EXPECT_EQ(MPI_Barrier(Session::get().comm()), MPI_SUCCESS); });
}

TEST(Meeting, ASendEnds_WhoseReceiverIsInAReduction) {
  send_before([](int i) {
    int sum = Session::get().rank() + i;
    ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, Session::get().comm()), MPI_SUCCESS);
    ASSERT_EQ(sum, sum_of_ranks() + i * Session::get().size());
  });
}

TEST(Meeting, ASendEnds_WhoseReceiverSplitsACommunicator) {
  send_before([](int i) {
    const Session &session = Session::get();
    MPI_Comm part = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_split(session.comm(), i % 2, -session.rank(), &part), MPI_SUCCESS);
    int rank = -1;
    ASSERT_EQ(MPI_Comm_rank(part, &rank), MPI_SUCCESS);
    ASSERT_EQ(rank, session.size() - 1 - session.rank());
    ASSERT_EQ(MPI_Comm_free(&part), MPI_SUCCESS);
  });
}

// The same where another thread posts the receive, at the earliest when the barrier is about to be called.
TEST(MeetingThreads, ASendEnds_WhoseReceiverIsInABarrier) {
  const Session &session = Session::get();
  int provided = MPI_THREAD_SINGLE;
  ASSERT_EQ(MPI_Query_thread(&provided), MPI_SUCCESS);
  if (provided != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "missing: MPI_THREAD_MULTIPLE (--threads)";
  const Kind kind = session.has_kind(Kind::device) ? Kind::device : Kind::host;
  const Memory memory(session.module(), kind, kBytes);
  MPI_Comm words = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(session.comm(), &words), MPI_SUCCESS);
  const int partner = session.partner();
  for (int i = 0; i < 2 * kCalls; ++i) {
    int word = i;
    if (session.begins()) {
      memory.fill_pattern(session.rank(), i);
      ASSERT_EQ(MPI_Recv(&word, 1, MPI_INT, partner, kTag, words, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_EQ(MPI_Send(memory.data(), kBytes, MPI_BYTE, partner, kTag, session.comm()), MPI_SUCCESS);
      ASSERT_EQ(MPI_Barrier(session.comm()), MPI_SUCCESS);
      continue;
    }
    memory.fill(kPoison);
    MPI_Request request = MPI_REQUEST_NULL;
    std::atomic<bool> is_coming{false};
    std::thread other([&] {
      while (!is_coming) std::this_thread::yield();
      // Now at once, now when the barrier has long been called.
      for (int turn = 0; turn < i % 40; ++turn) std::this_thread::yield();
      EXPECT_EQ(MPI_Irecv(memory.data(), kBytes, MPI_BYTE, partner, kTag, session.comm(), &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Send(&word, 1, MPI_INT, partner, kTag, words), MPI_SUCCESS);
    });
    is_coming = true;
    EXPECT_EQ(MPI_Barrier(session.comm()), MPI_SUCCESS);
    other.join();
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(find_pattern_error(memory.read(), partner, i), "") << "call " << i;
  }
  ASSERT_EQ(MPI_Comm_free(&words), MPI_SUCCESS);
}

// The host MPI takes in what was sent before a barrier while it waits there, so that one MPI_Win_test sees it.
TEST(Meeting, ABarrierBringsWhatWasSentBefore) {
  if (needs_several_win_tests()) GTEST_SKIP() << "missing: a host MPI that sees it by itself";
  const Session &session = Session::get();
  const bool has_partner = session.partner() < session.size();
  const int partner = session.partner();
  long word = 0;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, session.comm(), &window), MPI_SUCCESS);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group other = MPI_GROUP_NULL;
  ASSERT_EQ(MPI_Comm_group(session.comm(), &all), MPI_SUCCESS);
  ASSERT_EQ(MPI_Group_incl(all, has_partner ? 1 : 0, &partner, &other), MPI_SUCCESS);
  int n_late = 0;
  for (int i = 0; i < 10 * kCalls; ++i) {
    const bool opens = has_partner && session.begins();
    const bool is_opened = has_partner && !session.begins();
    if (opens) {
      ASSERT_EQ(MPI_Win_start(other, 0, window), MPI_SUCCESS);
    }
    if (is_opened) {
      ASSERT_EQ(MPI_Win_post(other, 0, window), MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Barrier(session.comm()), MPI_SUCCESS);
    if (opens) {
      ASSERT_EQ(MPI_Win_complete(window), MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Barrier(session.comm()), MPI_SUCCESS);
    if (!is_opened) continue;
    int is_over = 0;
    ASSERT_EQ(MPI_Win_test(window, &is_over), MPI_SUCCESS);
    if (is_over != 0) continue;
    ++n_late;
    ASSERT_EQ(MPI_Win_wait(window), MPI_SUCCESS);
  }
  EXPECT_EQ(n_late, 0);
  for (MPI_Group *group : {&all, &other}) ASSERT_EQ(MPI_Group_free(group), MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

// Non-blocking calls of the same communicator are under way, begun before the ranks have met and after.
TEST(Meeting, BlockingCallsComeBetweenNonBlockingOnes) {
  const Session &session = Session::get();
  for (int i = 0; i < kCalls; ++i) {
    int begun = session.rank() == i % session.size() ? i : -1;
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Ibcast(&begun, 1, MPI_INT, i % session.size(), session.comm(), &request), MPI_SUCCESS);
    int sum = session.rank();
    ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, session.comm()), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(begun, i);
    ASSERT_EQ(sum, sum_of_ranks());
  }
}

// Each communicator has its own number of calls, and what was shared for them goes with it.
TEST(Meeting, CommunicatorsComeAndGo) {
  for (int i = 0; i < kCalls; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(Session::get().comm(), &comm), MPI_SUCCESS);
    for (int call = 0; call < i; ++call) {
      int value = Session::get().rank() == call % Session::get().size() ? call : -1;
      ASSERT_EQ(MPI_Bcast(&value, 1, MPI_INT, call % Session::get().size(), comm), MPI_SUCCESS);
      ASSERT_EQ(value, call);
    }
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
}

}  // namespace sluice::tests::meeting_test
