// SPDX-License-Identifier: BSD-3-Clause
// Who a message is matched with: wildcards, MPI_PROC_NULL, the rank itself, other communicators, intercommunicators.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests::matching_test {
namespace {

TEST(Recv, ReportsSourceAndTag_WhenBothAreWildcards) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    in_turn(
        [&] {
          const Memory &memory = run.input(c.size_bytes);
          run.call("MPI_Send",
                   MPI_Send(memory.data(), count, MPI_BYTE, session.partner(), 40 + session.rank(), session.comm()));
        },
        [&] {
          const Memory &memory = run.output(c.size_bytes);
          MPI_Status status;
          run.call("MPI_Recv",
                   MPI_Recv(memory.data(), count, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, session.comm(), &status));
          run.note_status("MPI_Recv", status, MPI_BYTE);
          EXPECT_EQ(status.MPI_SOURCE, session.partner());
          EXPECT_EQ(status.MPI_TAG, 40 + session.partner());
          run.expect_pattern(memory, session.partner(), 0, c.size_bytes);
        });
  });
}

TEST(Irecv, TakesTheRightMessage_WhenTagsArriveOutOfOrder) {
  compare_each_case(Breadth::narrow, {9, 5000, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    constexpr int kMessages = 4;
    std::vector<MPI_Request> requests;
    std::vector<const Memory *> outputs;
    for (int i = 0; i < kMessages; ++i) {
      outputs.push_back(&run.output(c.size_bytes));
      // The last receives whatever the others leave.
      const int tag = i == kMessages - 1 ? MPI_ANY_TAG : i;
      run.call("MPI_Irecv", MPI_Irecv(outputs.back()->data(), count, MPI_BYTE, session.partner(), tag, session.comm(),
                                      &requests.emplace_back(MPI_REQUEST_NULL)));
    }
    for (int tag = kMessages - 1; tag >= 0; --tag) {
      const Memory &in = run.input(c.size_bytes, tag);
      run.call("MPI_Isend", MPI_Isend(in.data(), count, MPI_BYTE, session.partner(), tag, session.comm(),
                                      &requests.emplace_back(MPI_REQUEST_NULL)));
    }
    std::vector<MPI_Status> statuses(requests.size());
    run.call("MPI_Waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      run.note_status("receive", statuses[i], MPI_BYTE);
      run.expect_pattern(*outputs[i], session.partner(), static_cast<int>(i), c.size_bytes);
    }
  });
}

TEST(Send, ReachesTheRankItself_WhenTheReceiveIsPosted) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Irecv", MPI_Irecv(out.data(), count, MPI_BYTE, session.rank(), 7, session.comm(), &request));
    run.call("MPI_Send", MPI_Send(in.data(), count, MPI_BYTE, session.rank(), 7, session.comm()));
    MPI_Status status;
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    run.note_status("MPI_Wait", status, MPI_BYTE);
    run.expect_pattern(out, session.rank(), 0, c.size_bytes);
  });
}

TEST(ProcNull, DoesNothing_ForEveryCall) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Status status;
    run.call("MPI_Send", MPI_Send(in.data(), count, MPI_BYTE, MPI_PROC_NULL, 7, session.comm()));
    run.call("MPI_Recv", MPI_Recv(out.data(), count, MPI_BYTE, MPI_PROC_NULL, 7, session.comm(), &status));
    run.note_status("MPI_Recv", status, MPI_BYTE);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    run.call("MPI_Isend", MPI_Isend(in.data(), count, MPI_BYTE, MPI_PROC_NULL, 7, session.comm(), &requests[0]));
    run.call("MPI_Irecv", MPI_Irecv(out.data(), count, MPI_BYTE, MPI_PROC_NULL, 7, session.comm(), &requests[1]));
    run.call("MPI_Wait", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    run.call("MPI_Wait", MPI_Wait(&requests[1], &status));
    run.note_status("MPI_Wait", status, MPI_BYTE);
  });
}

TEST(Send, StaysInItsCommunicator_WhenTagsAreEqual) {
  const Session &session = Session::get();
  MPI_Comm other = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(session.comm(), &other), MPI_SUCCESS);
  compare_each_case(Breadth::narrow, {100, 70'000}, [&](Trial &run, const Case &c) {
    const int count = static_cast<int>(c.size_bytes);
    const Memory &from_session = run.output(c.size_bytes);
    const Memory &from_other = run.output(c.size_bytes);
    MPI_Request requests[4] = {};
    run.call("MPI_Irecv", MPI_Irecv(from_other.data(), count, MPI_BYTE, session.partner(), 3, other, &requests[0]));
    run.call("MPI_Irecv",
             MPI_Irecv(from_session.data(), count, MPI_BYTE, session.partner(), 3, session.comm(), &requests[1]));
    run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes, 1).data(), count, MPI_BYTE, session.partner(), 3,
                                    session.comm(), &requests[2]));
    run.call("MPI_Isend",
             MPI_Isend(run.input(c.size_bytes, 2).data(), count, MPI_BYTE, session.partner(), 3, other, &requests[3]));
    run.call("MPI_Waitall", MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    run.expect_pattern(from_session, session.partner(), 1, c.size_bytes);
    run.expect_pattern(from_other, session.partner(), 2, c.size_bytes);
  });
  MPI_Comm_free(&other);
}

TEST(Intercommunicator, CarriesMessages_BetweenItsGroups) {
  const Session &session = Session::get();
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(session.comm(), session.rank() % 2, session.rank(), &local), MPI_SUCCESS);
  ASSERT_EQ(MPI_Intercomm_create(local, 0, session.comm(), 1 - session.rank() % 2, 99, &inter), MPI_SUCCESS);
  int local_rank = 0;
  MPI_Comm_rank(inter, &local_rank);
  compare_each_case(Breadth::narrow, [&](Trial &run, const Case &c) {
    // The partner has the same rank in the other group.
    const int count = static_cast<int>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    run.call("MPI_Isend", MPI_Isend(in.data(), count, MPI_BYTE, local_rank, 8, inter, &request));
    run.call("MPI_Recv", MPI_Recv(out.data(), count, MPI_BYTE, MPI_ANY_SOURCE, 8, inter, &status));
    run.note_status("MPI_Recv", status, MPI_BYTE);
    run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
  });
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

}  // namespace
}  // namespace sluice::tests::matching_test
