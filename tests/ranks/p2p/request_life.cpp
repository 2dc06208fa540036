// SPDX-License-Identifier: BSD-3-Clause
// What may happen to a request besides completion: freed while active, looked at, cancelled.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests::request_life_test {
namespace {

constexpr int kTag = 61;

void handshake(Trial &run, int tag) {
  const Session &session = Session::get();
  run.call("MPI_Sendrecv", MPI_Sendrecv(nullptr, 0, MPI_BYTE, session.partner(), tag, nullptr, 0, MPI_BYTE,
                                        session.partner(), tag, session.comm(), MPI_STATUS_IGNORE));
}

TEST(RequestFree, LetsAnActiveSendFinish) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Isend", MPI_Isend(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
    run.call("MPI_Request_free", MPI_Request_free(&request));
    run.note("request is null", request == MPI_REQUEST_NULL ? 1 : 0);
    const Memory &out = run.output(c.size_bytes);
    run.call("MPI_Recv",
             MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
    // The partner's answer proves that the freed send is over; only then the buffer goes.
    handshake(run, kTag + 1);
  });
}

TEST(RequestFree, LetsAnActiveReceiveFinish) {
  compare_each_case(Breadth::narrow, {8, 5000, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    const Memory &last = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Irecv", MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
    run.call("MPI_Request_free", MPI_Request_free(&request));
    run.call("MPI_Irecv", MPI_Irecv(last.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
    MPI_Request sends[2] = {};
    for (int i = 0; i < 2; ++i) {
      run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes, i).data(), count, MPI_BYTE, session.partner(), kTag,
                                      session.comm(), &sends[i]));
    }
    run.call("MPI_Waitall", MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    // MPI has no call that says when a freed receive is over, other than its data: look for the last byte. Messages
    // between memory of the same kinds go on meanwhile, so that whoever has to complete it gets his turn.
    constexpr int kMostTurns = 1000;
    Bytes tail;
    for (int turn = 0; turn < kMostTurns; ++turn) {
      const Memory in(session.module(), run.send_kind(), 8);
      const Memory aside(session.module(), run.recv_kind(), 8);
      EXPECT_EQ(MPI_Sendrecv(in.data(), 8, MPI_BYTE, session.partner(), kTag + 1, aside.data(), 8, MPI_BYTE,
                             session.partner(), kTag + 1, session.comm(), MPI_STATUS_IGNORE),
                MPI_SUCCESS);
      tail = out.read(c.size_bytes - 1, 1);
      if (!session.agree_any(tail[0] == kPoison)) {
        break;
      }
    }
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
    run.expect_pattern(last, session.partner(), 1, c.size_bytes);
  });
}

TEST(RequestGetStatus, LeavesTheRequest_ToALaterWait) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request requests[2] = {};
    run.call("MPI_Irecv",
             MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &requests[0]));
    run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes).data(), count, MPI_BYTE, session.partner(), kTag,
                                    session.comm(), &requests[1]));
    MPI_Status status;
    int is_done = 0;
    while (is_done == 0) {
      ASSERT_EQ(MPI_Request_get_status(requests[0], &is_done, &status), MPI_SUCCESS);
    }
    run.note_status("MPI_Request_get_status", status, MPI_BYTE);
    // Complete means complete: the data is there before the wait.
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
    EXPECT_NE(requests[0], MPI_REQUEST_NULL);
    MPI_Status again;
    run.call("MPI_Wait", MPI_Wait(&requests[0], &again));
    run.note_status("MPI_Wait", again, MPI_BYTE);
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
    run.call("MPI_Wait", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  });
}

TEST(RequestGetStatus, AcceptsNullAndIgnore) {
  compare_each_case(Breadth::narrow, {0}, [](Trial &run, const Case &) {
    int is_done = 0;
    MPI_Status status;
    run.call("MPI_Request_get_status", MPI_Request_get_status(MPI_REQUEST_NULL, &is_done, &status));
    run.note("null request", is_done);
    run.call("MPI_Request_get_status", MPI_Request_get_status(MPI_REQUEST_NULL, &is_done, MPI_STATUS_IGNORE));
    run.note("null request", is_done);
  });
}

TEST(Cancel, TakesAReceiveBack_WhenNothingMatchesIt) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Irecv", MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
    run.call("MPI_Cancel", MPI_Cancel(&request));
    MPI_Status status;
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    int is_cancelled = 0;
    MPI_Test_cancelled(&status, &is_cancelled);
    run.note("cancelled", is_cancelled);
    EXPECT_EQ(is_cancelled, 1);
    run.note("request is null", request == MPI_REQUEST_NULL ? 1 : 0);
    // The next message is not swallowed by the receive that is gone.
    const Memory &next = run.output(c.size_bytes);
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Barrier(session.comm());
    run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes).data(), count, MPI_BYTE, session.partner(), kTag,
                                    session.comm(), &send));
    run.call("MPI_Recv",
             MPI_Recv(next.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
    run.call("MPI_Wait", MPI_Wait(&send, MPI_STATUS_IGNORE));
    run.expect_pattern(next, session.partner(), 0, c.size_bytes);
  });
}

TEST(Cancel, KeepsAPersistentReceiveUsable) {
  compare_each_case(Breadth::narrow, {100, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Recv_init",
             MPI_Recv_init(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
    run.call("MPI_Start", MPI_Start(&request));
    run.call("MPI_Cancel", MPI_Cancel(&request));
    MPI_Status status;
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    int is_cancelled = 0;
    MPI_Test_cancelled(&status, &is_cancelled);
    EXPECT_EQ(is_cancelled, 1);
    MPI_Barrier(session.comm());
    run.call("MPI_Start", MPI_Start(&request));
    MPI_Request send = MPI_REQUEST_NULL;
    run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes).data(), count, MPI_BYTE, session.partner(), kTag,
                                    session.comm(), &send));
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    run.note_status("MPI_Wait", status, MPI_BYTE);
    run.call("MPI_Wait", MPI_Wait(&send, MPI_STATUS_IGNORE));
    run.call("MPI_Request_free", MPI_Request_free(&request));
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
  });
}

}  // namespace
}  // namespace sluice::tests::request_life_test
