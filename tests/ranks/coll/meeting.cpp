// SPDX-License-Identifier: BSD-3-Clause
// Blocking collective calls before which the ranks of a node meet (docs/adr/0045): a process in one goes on serving its
// peers until all are there. More calls than it takes until they meet as shipped.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
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

}  // namespace sluice::tests
