// SPDX-License-Identifier: BSD-3-Clause
// Persistent operations in queues, and queues of one process alone.
#include <array>
#include <thread>

#include "tests/ranks/queue/functions.hpp"

namespace sluice::tests::persistent_test {
namespace {

constexpr int kTag = 61;
constexpr int kStarts = 5;
constexpr int kBytes = 20011;

struct Operations {
  Operations(const Memory &out, const Memory &in) {
    const Session &session = Session::get();
    EXPECT_MPI(MPI_Send_init(out.data(), kBytes, MPI_BYTE, session.partner(), kTag, session.comm(), &send));
    EXPECT_MPI(MPI_Recv_init(in.data(), kBytes, MPI_BYTE, session.partner(), kTag, session.comm(), &recv));
  }
  ~Operations() {
    EXPECT_MPI(MPI_Request_free(&send));
    EXPECT_MPI(MPI_Request_free(&recv));
  }
  Operations(const Operations &) = delete;
  Operations &operator=(const Operations &) = delete;

  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Request recv = MPI_REQUEST_NULL;
};

}  // namespace

// Each start moves what the stream had put into the buffer when it came there, and tells its own status.
TEST(Persistent, IsStartedByTheStream_AgainAndAgain) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  for (const Kind kind : {Kind::device, Kind::host}) {
    const Memory out(session.module(), kind, kBytes);
    const Memory in(session.module(), kind, kBytes);
    const Operations operations(out, in);
    ProgramStream stream;
    TestQueue queue(stream);
    for (int k = 0; k < kStarts; ++k) {
      in.fill(kPoison);
      out.fill(kPoison);
      std::array<MPI_Request, 2> requests{};
      EXPECT_MPI(mpix().persistent(operations.recv, queue.get(), &requests[0]));
      EXPECT_MPI(mpix().persistent(operations.send, queue.get(), &requests[1]));
      stream.close_gate();
      queue.start();
      queue.wait();
      out.fill_pattern(session.rank(), k);  // not read before the gate is open
      stream.open_gates();
      stream.synchronize();
      EXPECT_EQ(find_pattern_error(in.read(), session.partner(), k), "") << "start " << k;
      std::array<MPI_Status, 2> statuses{};
      EXPECT_MPI(MPI_Waitall(2, requests.data(), statuses.data()));
      int count = -1;
      EXPECT_MPI(MPI_Get_count(statuses.data(), MPI_BYTE, &count));
      EXPECT_EQ(count, kBytes);
      EXPECT_EQ(statuses[0].MPI_SOURCE, session.partner());
      EXPECT_EQ(statuses[0].MPI_TAG, kTag);
    }
    // Inactive again: the host may start it itself.
    std::array<MPI_Request, 2> both = {operations.recv, operations.send};
    out.fill_pattern(session.rank(), kStarts);
    EXPECT_MPI(MPI_Startall(2, both.data()));
    EXPECT_MPI(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE));
    EXPECT_EQ(find_pattern_error(in.read(), session.partner(), kStarts), "");
  }
}

// In one batch with messages of queues, in their order.
TEST(Persistent, GoesInItsPlaceOfTheBatch) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  const Memory first_in(session.module(), Kind::device, kBytes);
  const Memory first_out(session.module(), Kind::device, kBytes);
  first_out.fill_pattern(session.rank(), 1);
  out.fill_pattern(session.rank(), 2);
  const Operations operations(out, in);
  ProgramStream stream;
  TestQueue queue(stream);
  // One tag: the first to be sent is what the first receive gets.
  queue.recv(first_in.data(), kBytes, kTag, session.partner());
  queue.persistent(operations.recv);
  queue.send(first_out.data(), kBytes, kTag, session.partner());
  queue.persistent(operations.send);
  queue.start();
  queue.wait();
  stream.synchronize();
  queue.complete();
  EXPECT_EQ(find_pattern_error(first_in.read(), session.partner(), 1), "");
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 2), "");
}

TEST(Persistent, WrongRequests_AreRefused) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(class_of(mpix().persistent(MPI_REQUEST_NULL, queue.get(), &request)), MPI_ERR_ARG);
  int value = 0;
  MPI_Request active = MPI_REQUEST_NULL;
  EXPECT_MPI(MPI_Recv_init(&value, 1, MPI_INT, session.partner(), kTag, session.comm(), &active));
  EXPECT_MPI(MPI_Start(&active));
  const int code = mpix().persistent(active, queue.get(), &request);
  EXPECT_EQ(class_of(code), MPI_ERR_ARG);
  EXPECT_NE(text_of(code).find("active"), std::string::npos) << text_of(code);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_MPI(MPI_Barrier(session.comm()));  // until here nothing is sent
  const int sent = session.rank() + 7;
  EXPECT_MPI(MPI_Send(&sent, 1, MPI_INT, session.partner(), kTag, session.comm()));
  EXPECT_MPI(MPI_Wait(&active, MPI_STATUS_IGNORE));
  EXPECT_EQ(value, session.partner() + 7);
  EXPECT_MPI(MPI_Request_free(&active));
}

// III.A: "local operations performed without interaction with any other process".
TEST(Queues, AreMadeAndFreed_ByOneProcessAlone) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  if (session.begins()) {
    ProgramStream stream;
    for (int k = 0; k < 3; ++k) const TestQueue queue(stream);
    EXPECT_MPI(MPI_Send(nullptr, 0, MPI_BYTE, session.partner(), kTag, session.comm()));
  } else {
    EXPECT_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, session.partner(), kTag, session.comm(), MPI_STATUS_IGNORE));
  }
}

// What programs do first where a stream is an object that has to be named (docs/queue/guide.md); elsewhere it changes
// nothing.
TEST(Queues, AreMadeOnStreams_ThatTheProgramRegistered) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  ProgramStream stream;
  EXPECT_EQ(mpix().register_context(session.module()->name().c_str(), stream.native()), 0);
  EXPECT_EQ(mpix().register_context("nobody", stream.native()), -1);
  TestQueue queue(stream);
  queue.send(nullptr, 0, kTag, session.rank());
  queue.recv(nullptr, 0, kTag, session.rank());
  queue.start();
  queue.wait();
  queue.complete();
}

}  // namespace sluice::tests::persistent_test
