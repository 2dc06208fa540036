// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls: each is a clear MPI error, nothing is lost, nothing hangs, and the queue works afterwards.
#include <array>

#include "tests/ranks/queue/functions.hpp"

namespace sluice::tests::bad_input_test {
namespace {

constexpr int kTag = 81;
constexpr int kBytes = 3001;

// One message of each partner, there and back, through the same queue.
void expect_it_works(const ProgramStream &stream, TestQueue *queue, int iteration) {
  const Session &session = Session::get();
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  out.fill_pattern(session.rank(), iteration);
  queue->recv(in.data(), kBytes, kTag, session.partner());
  queue->send(out.data(), kBytes, kTag, session.partner());
  queue->start();
  queue->wait();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), iteration), "");
  queue->complete();
}

void expect_error(int code, int error_class, const std::string &part) {
  EXPECT_EQ(class_of(code), error_class) << text_of(code);
  EXPECT_NE(text_of(code).find(part), std::string::npos) << text_of(code);
}

}  // namespace

TEST(BadInput, ArgumentsOfMessages_AreRefusedWhenTheyAreEnqueued) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory memory(session.module(), Kind::device, kBytes);
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  const int peer = session.partner();
  expect_error(mpix().recv(memory.data(), 1, MPI_BYTE, MPI_ANY_SOURCE, kTag, queue.get(), &request), MPI_ERR_ARG,
               "MPI_ANY_SOURCE");
  expect_error(mpix().recv(memory.data(), 1, MPI_BYTE, peer, MPI_ANY_TAG, queue.get(), &request), MPI_ERR_ARG,
               "MPI_ANY_TAG");
  expect_error(mpix().send(memory.data(), 1, MPI_BYTE, peer, kTag, queue.get(), nullptr), MPI_ERR_ARG, "null");
  EXPECT_EQ(class_of(mpix().send(memory.data(), 1, MPI_BYTE, session.size() + 5, kTag, queue.get(), &request)),
            MPI_ERR_RANK);
  EXPECT_EQ(class_of(mpix().send(memory.data(), 1, MPI_BYTE, peer, -7, queue.get(), &request)), MPI_ERR_TAG);
  EXPECT_EQ(class_of(mpix().send(memory.data(), -1, MPI_BYTE, peer, kTag, queue.get(), &request)), MPI_ERR_COUNT);
  EXPECT_NE(class_of(mpix().send(memory.data(), 1, MPI_DATATYPE_NULL, peer, kTag, queue.get(), &request)), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  expect_it_works(stream, &queue, 1);
}

TEST(BadInput, ACommunicatorBesideTheQueues) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory memory(session.module(), Kind::device, kBytes);
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  expect_error(mpix().send_on(memory.data(), 1, MPI_BYTE, MPI_PROC_NULL, kTag, MPI_COMM_SELF, queue.get(), &request),
               MPI_ERR_ARG, "another communicator");
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  expect_it_works(stream, &queue, 9);
}

TEST(BadInput, Streams_ThatAreNone) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  expect_error(mpix().create(session.comm(), nullptr, &queue), MPI_ERR_ARG, "stream is null");
  EXPECT_EQ(queue, MPIX_QUEUE_NULL);
  std::array<char, 256> something{};
  if (session.module()->table().stream_query(something.data()) < 0) {
    expect_error(mpix().create(session.comm(), something.data(), &queue), MPI_ERR_ARG, "is no stream");
  }
  ProgramStream stream;
  expect_error(mpix().create(MPI_COMM_NULL, stream.native(), &queue), MPI_ERR_ARG, "MPI_COMM_NULL");
  expect_error(mpix().create(session.comm(), stream.native(), nullptr), MPI_ERR_ARG, "null");
  EXPECT_EQ(queue, MPIX_QUEUE_NULL);
}

TEST(BadInput, Queues_ThatAreNone_OrNoMore) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory memory(session.module(), Kind::device, kBytes);
  ProgramStream stream;
  MPIX_Queue freed = MPIX_QUEUE_NULL;
  EXPECT_MPI(mpix().create(session.comm(), stream.native(), &freed));
  EXPECT_MPI(mpix().free(freed));
  MPI_Request request = MPI_REQUEST_NULL;
  const auto garbage = reinterpret_cast<MPIX_Queue>(&request);
  const std::array<std::pair<MPIX_Queue, const char *>, 3> wrong = {
      {{freed, "was freed"}, {MPIX_QUEUE_NULL, "MPIX_QUEUE_NULL"}, {garbage, "no queue"}}};
  for (const auto &[queue, text] : wrong) {
    expect_error(mpix().send(memory.data(), 1, MPI_BYTE, session.partner(), kTag, queue, &request), MPI_ERR_ARG, text);
    expect_error(mpix().recv(memory.data(), 1, MPI_BYTE, session.partner(), kTag, queue, &request), MPI_ERR_ARG, text);
    expect_error(mpix().start(queue), MPI_ERR_ARG, text);
    expect_error(mpix().wait(queue), MPI_ERR_ARG, text);
    expect_error(mpix().free(queue), MPI_ERR_ARG, text);
  }
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST(BadInput, AWaitWithoutAStart) {
  SKIP_WITHOUT_QUEUES();
  ProgramStream stream;
  TestQueue queue(stream);
  expect_error(mpix().wait(queue.get()), MPI_ERR_ARG, "MPIX_Enqueue_start");
  stream.synchronize();  // the stream waits for nothing
  expect_it_works(stream, &queue, 2);
}

TEST(BadInput, FreeingTooEarly_LosesNothing) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  out.fill_pattern(session.rank(), 3);
  ProgramStream stream;
  TestQueue queue(stream);
  queue.recv(in.data(), kBytes, kTag, session.partner());
  queue.send(out.data(), kBytes, kTag, session.partner());
  expect_error(mpix().free(queue.get()), MPI_ERR_ARG, "2 messages that were not started");
  stream.close_gate();
  queue.start();
  expect_error(mpix().free(queue.get()), MPI_ERR_ARG, "2 that are not complete");
  queue.wait();
  stream.open_gates();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 3), "");
  queue.complete();
}

TEST(BadInput, BuffersOfAnotherDevice) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  if (session.module()->device_count() < 2) GTEST_SKIP() << "missing: a second device";
  session.module()->set_device(1);
  const Memory other(session.module(), Kind::device, kBytes);
  session.module()->set_device(0);
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  expect_error(mpix().send(other.data(), kBytes, MPI_BYTE, session.partner(), kTag, queue.get(), &request),
               MPI_ERR_BUFFER, "device 1");
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  expect_it_works(stream, &queue, 4);
}

TEST(BadInput, MixedForms) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory memory(session.module(), Kind::device, kBytes);
  ProgramStream stream;
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  EXPECT_MPI(mpix().create_of_stream(stream.native(), &queue));
  MPI_Request request = MPI_REQUEST_NULL;
  expect_error(mpix().send(memory.data(), 1, MPI_BYTE, session.partner(), kTag, queue, &request), MPI_ERR_ARG,
               "SLUICE_QUEUE_VENDOR_FORM");
  EXPECT_MPI(mpix().free(queue));
}

// Run without --threads: the host MPI then gives less than MPI_THREAD_MULTIPLE.
TEST(WithoutThreads, QueuesAreRefused) {
  SKIP_WITHOUT_QUEUES();
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided == MPI_THREAD_MULTIPLE) GTEST_SKIP() << "missing: less than MPI_THREAD_MULTIPLE";
  ProgramStream stream;
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  expect_error(mpix().create(Session::get().comm(), stream.native(), &queue), MPI_ERR_OTHER, "MPI_THREAD_MULTIPLE");
  EXPECT_EQ(queue, MPIX_QUEUE_NULL);
}

}  // namespace sluice::tests::bad_input_test
