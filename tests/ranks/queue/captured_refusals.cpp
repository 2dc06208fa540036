// SPDX-License-Identifier: BSD-3-Clause
// What cannot be captured into a graph is a clear error, and nothing is lost (docs/adr/0057).
#include "tests/ranks/queue/captured_case.hpp"

namespace sluice::tests::captured_refusals_test {

// The capture goes on after each, and what it makes works.
TEST(Captured, WhatCannotBe_IsRefused) {
  SKIP_WITHOUT_GRAPHS();
  const Session &session = Session::get();
  const Memory host = make_memory(Kind::host, 64);
  const Memory memory = make_memory(Kind::device, 64);
  const Memory in = make_memory(Kind::device, 64);
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  CapturedGraph graph(stream);
  expect_refused(mpix().send(host.data(), 64, MPI_BYTE, session.partner(), kTag, queue.get(), &request), MPI_ERR_OTHER,
                 "one run of memory of the stream's device");
  expect_refused(mpix().send(memory.data(), 64, MPI_BYTE, session.rank(), kTag, queue.get(), &request), MPI_ERR_OTHER,
                 "to no rank itself");
  expect_refused(mpix().recv(memory.data(), 64, MPI_BYTE, MPI_ANY_SOURCE, kTag, queue.get(), &request), MPI_ERR_ARG,
                 "MPI_ANY_SOURCE");
  expect_refused(mpix().wait(queue.get()), MPI_ERR_OTHER, "call MPIX_Enqueue_start before");
  queue.recv(in.data(), 64, kTag, session.partner());
  queue.send(memory.data(), 64, kTag, session.partner());
  queue.start();
  queue.wait();
  graph.end();
  queue.complete();
  memory.fill_pattern(session.rank(), 5);
  graph.launch();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 5), "");
}

// Neither half of a message in the capture and half outside of it.
TEST(Captured, ABatchIsWithinTheCapture_OrOutsideOfIt) {
  SKIP_WITHOUT_GRAPHS();
  const Session &session = Session::get();
  const Memory out = make_memory(Kind::device, 64);
  const Memory in = make_memory(Kind::device, 64);
  out.fill_pattern(session.rank(), 6);
  ProgramStream stream;
  TestQueue queue(stream);
  queue.recv(in.data(), 64, kTag, session.partner());
  queue.send(out.data(), 64, kTag, session.partner());
  {
    CapturedGraph graph(stream);
    stream.copy(in.data(), out.data(), 1);
    expect_refused(mpix().start(queue.get()), MPI_ERR_OTHER, "enqueued before the capture began");
    graph.end();
  }
  queue.start();  // nothing is lost
  queue.wait();
  stream.synchronize();
  queue.complete();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 6), "");
  {
    CapturedGraph graph(stream);
    queue.recv(in.data(), 64, kTag, session.partner());
    queue.send(out.data(), 64, kTag, session.partner());
    stream.copy(out.at(32), out.data(), 32);
    graph.end();
  }
  expect_refused(mpix().start(queue.get()), MPI_ERR_ARG, "within the same capture");
  expect_refused(mpix().free(queue.get()), MPI_ERR_ARG, "not started");
  CapturedGraph graph(stream);
  queue.start();
  queue.wait();
  graph.end();
  queue.complete();
  out.fill_pattern(session.rank(), 7);
  graph.launch();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 7), "");
}

// Both sides are told before anything is launched.
TEST(Captured, AMessageThatIsTooLong_IsToldToBothSides) {
  SKIP_WITHOUT_GRAPHS();
  const Session &session = Session::get();
  const Memory memory = make_memory(Kind::device, 5000);
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  CapturedGraph graph(stream);
  if (session.begins()) {
    EXPECT_MPI(mpix().send(memory.data(), 5000, MPI_BYTE, session.partner(), kTag, queue.get(), &request));
  } else {
    EXPECT_MPI(mpix().recv(memory.data(), 4999, MPI_BYTE, session.partner(), kTag, queue.get(), &request));
  }
  queue.start();
  queue.wait();
  graph.end();
  expect_refused(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
                 "5000 bytes is received into a buffer of 4999");
}

TEST(Captured, OtherEngines_RefuseIt) {
  SKIP_WITHOUT_QUEUES();
  if (is_device_engine()) GTEST_SKIP() << "missing: an engine without messages for graphs";
  if (graphs() == nullptr) GTEST_SKIP() << "missing: a backend with graphs of what a stream was given";
  const Session &session = Session::get();
  const Memory out = make_memory(Kind::device, 64);
  const Memory in = make_memory(Kind::device, 64);
  ProgramStream stream;
  TestQueue queue(stream);
  CapturedGraph graph(stream);
  queue.recv(in.data(), 64, kTag, session.partner());
  queue.send(out.data(), 64, kTag, session.partner());
  expect_refused(mpix().start(queue.get()), MPI_ERR_OTHER, "SLUICE_QUEUE_ENGINE=device");
  stream.copy(in.data(), out.data(), 1);
  graph.end();
  queue.start();
  queue.wait();
  stream.synchronize();
  queue.complete();
}

}  // namespace sluice::tests::captured_refusals_test
