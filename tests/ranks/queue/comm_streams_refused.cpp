// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of sluice/enqueue.h: each is a clear MPI error, nothing is lost, and nothing hangs.
#include <array>
#include <cstdlib>
#include <vector>

#include "tests/ranks/queue/stream_functions.hpp"

namespace sluice::tests::comm_streams_refused_test {
namespace {

constexpr int kTag = 71;

void expect_error(int code, int error_class, const std::string &part) {
  EXPECT_EQ(class_of(code), error_class) << text_of(code);
  EXPECT_NE(text_of(code).find(part), std::string::npos) << text_of(code);
}

// MPIX_Stream_create with a `type` and, unless it is empty, a `value`.
int create_of(const char *type, const std::string &value, MPIX_Stream *stream) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(MPI_Info_create(&info));
  EXPECT_MPI(MPI_Info_set(info, "type", type));
  if (!value.empty()) EXPECT_MPI(MPI_Info_set(info, "value", value.c_str()));
  const int code = enqueue().create(info, stream);
  EXPECT_MPI(MPI_Info_free(&info));
  return code;
}

class ReturnsErrors {
 public:
  ReturnsErrors() {
    EXPECT_MPI(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before_));
    EXPECT_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  }
  ~ReturnsErrors() {
    EXPECT_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, before_));
    EXPECT_MPI(MPI_Errhandler_free(&before_));
  }
  ReturnsErrors(const ReturnsErrors &) = delete;
  ReturnsErrors &operator=(const ReturnsErrors &) = delete;

 private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace

TEST(CommStreamsRefused, Streams_ThatAreNone) {
  SKIP_WITHOUT_STREAMS();
  const ReturnsErrors errors;
  const sluice_backend_t &table = Session::get().module()->table();
  const char *type = table.stream_words()[0];
  MPIX_Stream stream = MPIX_STREAM_NULL;
  expect_error(create_of("some_stream_t", "00", &stream), MPI_ERR_ARG, "some_stream_t");
  expect_error(create_of(type, "", &stream), MPI_ERR_ARG, "no `value`");
  for (const char *value : {"12", "0x1234", "zz", "[9]", "[", "[1000000]", "00000000000000000", "[8]00", "1", "[-8]"}) {
    expect_error(create_of(type, value, &stream), MPI_ERR_ARG, "does not stand for the 8 bytes");
  }
  expect_error(create_of(type, "[8]", &stream), MPI_ERR_ARG, "is no stream");
  std::array<char, 256> something{};
  if (table.stream_query(something.data()) < 0) {
    const void *address = something.data();
    MPI_Info info = info_of(address);
    expect_error(enqueue().create(info, &stream), MPI_ERR_ARG, "is no stream");
    EXPECT_MPI(MPI_Info_free(&info));
  }
  EXPECT_EQ(stream, MPIX_STREAM_NULL);
  expect_error(enqueue().create(MPI_INFO_NULL, nullptr), MPI_ERR_ARG, "null");
  expect_error(enqueue().free(&stream), MPI_ERR_ARG, "no stream to free");
}

// Streams without a type are the order of a thread: the host MPI's, where it has them.
TEST(CommStreamsRefused, TheOrderOfAThread_TakesNothing) {
  SKIP_WITHOUT_STREAMS();
  const ReturnsErrors errors;
  const Session &session = Session::get();
  const Memory memory(session.module(), Kind::device, 64);
  MPIX_Stream stream = MPIX_STREAM_NULL;
  // A host MPI that has such streams may have none left (MPICH: MPIR_CVAR_CH4_RESERVE_VCIS says how many there are).
  const bool is_there = enqueue().create(MPI_INFO_NULL, &stream) == MPI_SUCCESS;
  EXPECT_EQ(stream != MPIX_STREAM_NULL, is_there);
  std::vector<MPIX_Stream> streams = {MPIX_STREAM_NULL};
  if (is_there) streams.push_back(stream);
  for (const MPIX_Stream one : streams) {
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_MPI(enqueue().comm_create(session.comm(), one, &comm));
    MPIX_Stream found = one + 1;
    EXPECT_MPI(enqueue().get_stream(comm, 0, &found));
    EXPECT_EQ(found, one);
    EXPECT_MPI(enqueue().progress(one));
    expect_error(enqueue().send(memory.data(), 1, MPI_BYTE, session.partner(), kTag, comm), MPI_ERR_ARG,
                 "the order of a thread");
    // Plain messages go as on any communicator.
    int sent = 40 + session.rank();
    int received = -1;
    EXPECT_MPI(MPI_Sendrecv(&sent, 1, MPI_INT, session.partner(), kTag, &received, 1, MPI_INT, session.partner(), kTag,
                            comm, MPI_STATUS_IGNORE));
    EXPECT_EQ(received, 40 + session.partner());
    EXPECT_MPI(MPI_Comm_free(&comm));
  }
  if (is_there) EXPECT_MPI(enqueue().free(&stream));
}

TEST(CommStreamsRefused, CallsWithoutAStream_OrWithWrongArguments) {
  SKIP_WITHOUT_STREAMS();
  const ReturnsErrors errors;
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory(session.module(), Kind::device, 64);
  ProgramStream stream;
  const StreamComm comm(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  expect_error(enqueue().send(memory.data(), 1, MPI_BYTE, peer, kTag, session.comm()), MPI_ERR_ARG, "has no stream");
  expect_error(enqueue().isend(memory.data(), 1, MPI_BYTE, peer, kTag, comm.get(), nullptr), MPI_ERR_ARG, "null");
  EXPECT_EQ(class_of(enqueue().send(memory.data(), -1, MPI_BYTE, peer, kTag, comm.get())), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(enqueue().send(memory.data(), 1, MPI_BYTE, peer, -7, comm.get())), MPI_ERR_TAG);
  expect_error(enqueue().send_c(memory.data(), -5000000000, MPI_BYTE, peer, kTag, comm.get()), MPI_ERR_COUNT,
               "elements");
  expect_error(enqueue().waitall(-1, &request, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "negative");
  EXPECT_MPI(enqueue().waitall(0, nullptr, MPI_STATUSES_IGNORE));
  EXPECT_MPI(enqueue().wait(&request, MPI_STATUS_IGNORE));
  // Not to be taken for one that stands there twice, behind one that is null.
  MPI_Request behind[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  EXPECT_MPI(MPI_Irecv(memory.data(), 1, MPI_BYTE, peer, kTag, session.comm(), &behind[1]));
  expect_error(enqueue().waitall(2, behind, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "request 1 is of no stream");
  EXPECT_MPI(MPI_Send(memory.data(), 0, MPI_BYTE, peer, kTag, session.comm()));
  EXPECT_MPI(MPI_Wait(&behind[1], MPI_STATUS_IGNORE));
  // A request of the host MPI's stays the program's.
  EXPECT_MPI(MPI_Irecv(memory.data(), 1, MPI_BYTE, peer, kTag, session.comm(), &request));
  expect_error(enqueue().wait(&request, MPI_STATUS_IGNORE), MPI_ERR_ARG, "is of no stream");
  EXPECT_MPI(MPI_Send(memory.data(), 0, MPI_BYTE, peer, kTag, session.comm()));
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  // And one of a queue, which waits for its messages itself.
  {
    TestQueue queue(stream, comm.get());
    MPI_Request &enqueued = queue.send(memory.data(), 1, kTag, MPI_PROC_NULL);
    expect_error(enqueue().wait(&enqueued, MPI_STATUS_IGNORE), MPI_ERR_ARG, "is of no stream");
    queue.start();
    queue.complete();
  }
  // And so do both of two that are one.
  MPI_Request twice[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  EXPECT_MPI(enqueue().isend(memory.data(), 64, MPI_BYTE, MPI_PROC_NULL, kTag, comm.get(), &twice[0]));
  twice[1] = twice[0];
  expect_error(enqueue().waitall(2, twice, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "stands there twice");
  EXPECT_MPI(enqueue().wait(&twice[0], MPI_STATUS_IGNORE));
  stream.synchronize();
}

// SLUICE_MPIX_STREAMS=host before a host MPI that has no such functions.
TEST(StreamsLeftToTheHost, AreNotThere) {
  SKIP_WITHOUT_STREAMS();
  if (std::getenv("SLUICE_MPIX_STREAMS") == nullptr) GTEST_SKIP() << "missing: SLUICE_MPIX_STREAMS=host";
  const ReturnsErrors errors;
  MPIX_Stream stream = MPIX_STREAM_NULL;
  expect_error(enqueue().create(MPI_INFO_NULL, &stream), MPI_ERR_OTHER, "MPIX_Stream_create is left to the host MPI");
  expect_error(enqueue().send(&stream, 1, MPI_BYTE, MPI_PROC_NULL, kTag, Session::get().comm()), MPI_ERR_OTHER,
               "unset the variable");
}

}  // namespace sluice::tests::comm_streams_refused_test
