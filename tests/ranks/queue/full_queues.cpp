// SPDX-License-Identifier: BSD-3-Clause
// Queues with more batches than their depth.
#include "tests/ranks/queue/functions.hpp"

namespace sluice::tests::full_queues_test {
namespace {

constexpr int kTag = 62;
constexpr int kBytes = 20011;

}  // namespace

// With queue_depth=3: the stream is three batches behind and does not move, so the fourth is an error, and
// nothing is lost.
TEST(FullQueues, AStreamThatDoesNotMove_IsAnError) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  constexpr int kDepth = 3;
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  out.fill_pattern(session.rank(), 9);
  ProgramStream stream;
  TestQueue queue(stream);
  stream.close_gate();
  for (int k = 0; k < kDepth; ++k) queue.start();
  queue.recv(in.data(), kBytes, kTag, session.partner());
  queue.send(out.data(), kBytes, kTag, session.partner());
  const int code = mpix().start(queue.get());
  EXPECT_EQ(class_of(code), MPI_ERR_OTHER);
  EXPECT_NE(text_of(code).find("queue_depth"), std::string::npos) << text_of(code);
  stream.open_gates();
  queue.start();
  queue.wait();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 9), "");
  queue.complete();
}

// And when it moves on, the call goes on, too.
TEST(FullQueues, AStreamThatMoves_IsWaitedFor) {
  SKIP_WITHOUT_QUEUES();
  constexpr int kBatches = 40;
  ProgramStream stream;
  TestQueue queue(stream);
  const Memory in(Session::get().module(), Kind::device, kBytes);
  const Memory out(Session::get().module(), Kind::device, kBytes);
  for (int k = 0; k < kBatches; ++k) {
    queue.recv(in.data(), kBytes, kTag, Session::get().partner());
    queue.send(out.data(), kBytes, kTag, Session::get().partner());
    queue.start();
    queue.wait();
    queue.wait();  // the stream waits once
  }
  stream.synchronize();
  queue.complete();
}

}  // namespace sluice::tests::full_queues_test
