// SPDX-License-Identifier: BSD-3-Clause
// Probes, and the receives of matched messages.
#include <gtest/gtest.h>

#include "tests/support/oracle.hpp"

namespace sluice::tests::probe_test {
namespace {

constexpr int kTag = 31;

void send_to_partner(Trial &run, std::size_t size_bytes) {
  const Session &session = Session::get();
  const Memory &memory = run.input(size_bytes);
  run.call("MPI_Send",
           MPI_Send(memory.data(), static_cast<int>(size_bytes), MPI_BYTE, session.partner(), kTag, session.comm()));
}

// Receives what a probe announced into a buffer of the announced size.
void receive_announced(Trial &run, const MPI_Status &announced, std::size_t size_bytes) {
  const Session &session = Session::get();
  int count = -1;
  MPI_Get_count(&announced, MPI_BYTE, &count);
  EXPECT_EQ(count, static_cast<int>(size_bytes));
  const Memory &memory = run.output(size_bytes);
  MPI_Status status;
  run.call("MPI_Recv", MPI_Recv(memory.data(), static_cast<int>(size_bytes), MPI_BYTE, announced.MPI_SOURCE,
                                announced.MPI_TAG, session.comm(), &status));
  run.note_status("MPI_Recv", status, MPI_BYTE);
  run.expect_pattern(memory, session.partner(), 0, size_bytes);
}

TEST(Probe, ReportsTheTrueSize_BeforeAReceive) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    in_turn([&] { send_to_partner(run, c.size_bytes); },
            [&] {
              MPI_Status status;
              run.call("MPI_Probe", MPI_Probe(Session::get().partner(), kTag, Session::get().comm(), &status));
              run.note_envelope("MPI_Probe", status, MPI_BYTE);
              receive_announced(run, status, c.size_bytes);
            });
  });
}

TEST(Iprobe, ReportsTheTrueSize_WithWildcards) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    in_turn([&] { send_to_partner(run, c.size_bytes); },
            [&] {
              MPI_Status status;
              int is_there = 0;
              while (is_there == 0) {
                ASSERT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, Session::get().comm(), &is_there, &status),
                          MPI_SUCCESS);
              }
              run.note_envelope("MPI_Iprobe", status, MPI_BYTE);
              receive_announced(run, status, c.size_bytes);
            });
  });
}

TEST(Mrecv, TakesTheMatchedMessage_AfterMprobe) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    in_turn([&] { send_to_partner(run, c.size_bytes); },
            [&] {
              const Session &session = Session::get();
              MPI_Message message = MPI_MESSAGE_NULL;
              MPI_Status status;
              run.call("MPI_Mprobe", MPI_Mprobe(MPI_ANY_SOURCE, kTag, session.comm(), &message, &status));
              run.note_envelope("MPI_Mprobe", status, MPI_BYTE);
              const Memory &memory = run.output(c.size_bytes + 32);
              run.call("MPI_Mrecv",
                       MPI_Mrecv(memory.data(), static_cast<int>(c.size_bytes) + 32, MPI_BYTE, &message, &status));
              run.note_status("MPI_Mrecv", status, MPI_BYTE);
              run.note("message is null", message == MPI_MESSAGE_NULL ? 1 : 0);
              run.expect_pattern(memory, session.partner(), 0, c.size_bytes);
            });
  });
}

TEST(Imrecv, TakesTheMatchedMessage_AfterImprobe) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    in_turn([&] { send_to_partner(run, c.size_bytes); },
            [&] {
              const Session &session = Session::get();
              MPI_Message message = MPI_MESSAGE_NULL;
              MPI_Status status;
              int is_there = 0;
              while (is_there == 0) {
                ASSERT_EQ(MPI_Improbe(session.partner(), MPI_ANY_TAG, session.comm(), &is_there, &message, &status),
                          MPI_SUCCESS);
              }
              run.note_envelope("MPI_Improbe", status, MPI_BYTE);
              const Memory &memory = run.output(c.size_bytes);
              MPI_Request request = MPI_REQUEST_NULL;
              run.call("MPI_Imrecv",
                       MPI_Imrecv(memory.data(), static_cast<int>(c.size_bytes), MPI_BYTE, &message, &request));
              run.call("MPI_Wait", MPI_Wait(&request, &status));
              run.note_status("MPI_Wait", status, MPI_BYTE);
              run.expect_pattern(memory, session.partner(), 0, c.size_bytes);
            });
  });
}

// Nothing is received before the send has begun, and nobody but this rank takes part.
TEST(Mrecv, TakesAMessageOfTheRankItself_OnEachCommunicator) {
  const Session &session = Session::get();
  MPI_Comm twin = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &twin), MPI_SUCCESS);
  for (const MPI_Comm comm : {MPI_COMM_SELF, twin, session.comm()}) {
    const int self = comm == session.comm() ? session.rank() : 0;
    for (const bool probes_first : {false, true}) {
      compare_each_case(Breadth::narrow, [&](Trial &run, const Case &c) {
        const int count = static_cast<int>(c.size_bytes);
        MPI_Request send = MPI_REQUEST_NULL;
        run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes).data(), count, MPI_BYTE, self, kTag, comm, &send));
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        if (probes_first) {
          run.call("MPI_Probe", MPI_Probe(self, MPI_ANY_TAG, comm, &status));
          run.note_envelope("MPI_Probe", status, MPI_BYTE);
        }
        run.call("MPI_Mprobe", MPI_Mprobe(MPI_ANY_SOURCE, kTag, comm, &message, &status));
        run.note_envelope("MPI_Mprobe", status, MPI_BYTE);
        const Memory &memory = run.output(c.size_bytes + 32);
        run.call("MPI_Mrecv", MPI_Mrecv(memory.data(), count + 32, MPI_BYTE, &message, &status));
        run.note_status("MPI_Mrecv", status, MPI_BYTE);
        run.expect_pattern(memory, session.rank(), 0, c.size_bytes);
        run.call("MPI_Wait", MPI_Wait(&send, MPI_STATUS_IGNORE));
      });
    }
  }
  EXPECT_EQ(MPI_Comm_free(&twin), MPI_SUCCESS);
}

TEST(Mrecv, ReturnsEmpty_WhenTheProbeWasOfProcNull) {
  compare_each_case(Breadth::narrow, {64}, [](Trial &run, const Case &) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    run.call("MPI_Mprobe", MPI_Mprobe(MPI_PROC_NULL, kTag, Session::get().comm(), &message, &status));
    run.note("no process", message == MPI_MESSAGE_NO_PROC ? 1 : 0);
    const Memory &memory = run.output(64);
    run.call("MPI_Mrecv", MPI_Mrecv(memory.data(), 64, MPI_BYTE, &message, &status));
    run.note_status("MPI_Mrecv", status, MPI_BYTE);
  });
}

#if MPI_VERSION >= 4
TEST(Mrecv, TakesTheMatchedMessage_InTheLargeCountForm) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const auto count = static_cast<MPI_Count>(c.size_bytes);
    in_turn(
        [&] {
          send_to_partner(run, c.size_bytes);
          send_to_partner(run, c.size_bytes);
        },
        [&] {
          MPI_Message message = MPI_MESSAGE_NULL;
          MPI_Status status;
          const Memory &first = run.output(c.size_bytes);
          run.call("MPI_Mprobe", MPI_Mprobe(session.partner(), kTag, session.comm(), &message, &status));
          run.call("MPI_Mrecv_c", MPI_Mrecv_c(first.data(), count, MPI_BYTE, &message, &status));
          run.note_status("MPI_Mrecv_c", status, MPI_BYTE);
          const Memory &second = run.output(c.size_bytes);
          MPI_Request request = MPI_REQUEST_NULL;
          run.call("MPI_Mprobe", MPI_Mprobe(session.partner(), kTag, session.comm(), &message, &status));
          run.call("MPI_Imrecv_c", MPI_Imrecv_c(second.data(), count, MPI_BYTE, &message, &request));
          run.call("MPI_Wait", MPI_Wait(&request, &status));
          run.expect_pattern(first, session.partner(), 0, c.size_bytes);
          run.expect_pattern(second, session.partner(), 0, c.size_bytes);
        });
  });
}
#endif

}  // namespace
}  // namespace sluice::tests::probe_test
