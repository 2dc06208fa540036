// SPDX-License-Identifier: BSD-3-Clause
// A copy, a queue or a pointer fails under a message: the call returns an MPI error with the native text, through the
// communicator's handler; nothing hangs, and later messages work. Which fault is in force says the environment.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/oracle.hpp"

namespace sluice::tests {
namespace {

constexpr int kTag = 5;
constexpr int kBytes = 40'000;

int n_handled = 0;

void count_error(MPI_Comm * /*comm*/, int * /*code*/, ...) {
  ++n_handled;
}

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

class Fault : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_create_errhandler(count_error, &handler_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_, handler_), MPI_SUCCESS);
    permit();
    n_handled = 0;
  }

  // Has both permit each other to describe messages (docs/protocol.md, "Permission"), without a copy that could fail: a
  // message from host memory into pinned memory; and what follows it on the same way comes after the permission.
  void permit() const {
    char word = 1;
    const Memory pinned(session_.module(), session_.has_kind(Kind::pinned) ? Kind::pinned : Kind::host, 512);
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(MPI_Sendrecv(&word, 1, MPI_BYTE, session_.partner(), kTag, pinned.data(), 512, MPI_BYTE,
                             session_.partner(), kTag, comm_, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
    }
  }

  void TearDown() override {
    MPI_Errhandler_free(&handler_);
    MPI_Comm_free(&comm_);
  }

  // `code` is an error whose text has `words` in it, and the handler was called for it.
  static void expect_error(int code, const std::string &words) {
    EXPECT_NE(code, MPI_SUCCESS);
    const std::string text = text_of(code);
    EXPECT_NE(text.find(words), std::string::npos) << "the error's text is: " << text;
    EXPECT_GE(n_handled, 1) << "the communicator's error handler was not called";
    n_handled = 0;
  }

  // Tells the partner, in host memory, that it may go on.
  void tell(int tag) const { EXPECT_EQ(MPI_Send(nullptr, 0, MPI_BYTE, session_.partner(), tag, comm_), MPI_SUCCESS); }
  void hear(int tag) const {
    EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_BYTE, session_.partner(), tag, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }

  // Both directions, between device buffers.
  void expect_messages_work() const {
    const Memory in(session_.module(), Kind::device, kBytes);
    const Memory out(session_.module(), Kind::device, kBytes);
    in.fill_pattern(session_.rank(), 7);
    EXPECT_EQ(MPI_Sendrecv(in.data(), kBytes, MPI_BYTE, session_.partner(), kTag + 1, out.data(), kBytes, MPI_BYTE,
                           session_.partner(), kTag + 1, comm_, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    EXPECT_EQ(find_pattern_error(out.read(), session_.partner(), 7), "");
    EXPECT_EQ(n_handled, 0);
  }

  const Session &session_ = Session::get();
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

// In force on rank 0: the first use of a queue fails.
TEST_F(Fault, SendReturnsAnError_WhenItsCopyFails) {
  if (session_.begins()) {
    const Memory in(session_.module(), Kind::device, kBytes);
    expect_error(MPI_Send(in.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_), "fault injected");
    tell(kTag);
  } else {
    // No part of the failed message arrives; this is the empty one sent after it.
    MPI_Status status;
    EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_BYTE, session_.partner(), kTag, comm_, &status), MPI_SUCCESS);
  }
  expect_messages_work();
}

TEST_F(Fault, IsendReturnsAnError_WhenItsCopyFails) {
  if (session_.begins()) {
    const Memory in(session_.module(), Kind::device, kBytes);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Isend(in.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_, &request);
    if (code == MPI_SUCCESS) {
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    expect_error(code, "fault injected");
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    tell(kTag);
  } else {
    hear(kTag);
  }
  expect_messages_work();
}

// In force on rank 1.
TEST_F(Fault, RecvReturnsAnError_WhenItsCopyFails) {
  const Memory memory(session_.module(), Kind::device, kBytes);
  if (session_.begins()) {
    EXPECT_EQ(MPI_Send(memory.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_), MPI_SUCCESS);
  } else {
    expect_error(MPI_Recv(memory.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_, MPI_STATUS_IGNORE),
                 "fault injected");
  }
  expect_messages_work();
}

// The first kernel of rank 1: the one that walks the layouts of both ends.
TEST_F(Fault, RecvReturnsAnError_WhenTheKernelBetweenTwoLayoutsFails) {
  constexpr int kRuns = kBytes / 24;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_vector(kRuns, 2, 6, MPI_INT, &type), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  const Memory memory(session_.module(), Kind::device, kBytes);
  for (const bool is_failing : {true, false}) {
    if (session_.begins()) {
      EXPECT_EQ(MPI_Send(memory.data(), 1, type, session_.partner(), kTag, comm_), MPI_SUCCESS);
      continue;
    }
    const int code = MPI_Recv(memory.data(), 1, type, session_.partner(), kTag, comm_, MPI_STATUS_IGNORE);
    if (is_failing) {
      expect_error(code, "fault injected");
    } else {
      EXPECT_EQ(code, MPI_SUCCESS);
    }
  }
  MPI_Type_free(&type);
  expect_messages_work();
}

TEST_F(Fault, WaitReturnsAnError_WhenTheCopyOfItsReceiveFails) {
  const Memory memory(session_.module(), Kind::device, kBytes);
  if (session_.begins()) {
    EXPECT_EQ(MPI_Send(memory.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_), MPI_SUCCESS);
  } else {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Irecv(memory.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_, &request), MPI_SUCCESS);
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_NE(code, MPI_SUCCESS);
    EXPECT_NE(text_of(code).find("fault injected"), std::string::npos) << text_of(code);
    n_handled = 0;
  }
  expect_messages_work();
}

#if MPI_VERSION >= 4
constexpr int kPartitions = 4;
constexpr int kPartitionBytes = kBytes / kPartitions;

// A partitioned message from the one that begins to the other, started on both sides.
MPI_Request start_partitioned(const Session &session, const Memory &memory, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (session.begins()) {
    memory.fill_pattern(session.rank(), 4);
    EXPECT_EQ(MPI_Psend_init(memory.data(), kPartitions, kPartitionBytes, MPI_BYTE, session.partner(), kTag, comm,
                             MPI_INFO_NULL, &request),
              MPI_SUCCESS);
  } else {
    EXPECT_EQ(MPI_Precv_init(memory.data(), kPartitions, kPartitionBytes, MPI_BYTE, session.partner(), kTag, comm,
                             MPI_INFO_NULL, &request),
              MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
  return request;
}

// In force on rank 0: nothing was said to the host MPI, so the program may say it again.
TEST_F(Fault, PreadyReturnsAnError_WhenItsCopyFails) {
  const Memory memory(session_.module(), session_.begins() ? Kind::device : Kind::host, kBytes);
  MPI_Request request = start_partitioned(session_, memory, comm_);
  ASSERT_FALSE(HasFailure());
  if (session_.begins()) {
    expect_error(MPI_Pready(0, request), "fault injected");
    EXPECT_EQ(MPI_Pready_range(0, kPartitions - 1, request), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  if (!session_.begins()) {
    EXPECT_EQ(find_pattern_error(memory.read(), session_.partner(), 4), "");
  }
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  expect_messages_work();
}

// In force on rank 1: the partition is still owed, and the next call brings it up.
TEST_F(Fault, ParrivedReturnsAnError_WhenItsCopyFails) {
  const Memory memory(session_.module(), session_.begins() ? Kind::host : Kind::device, kBytes);
  MPI_Request request = start_partitioned(session_, memory, comm_);
  ASSERT_FALSE(HasFailure());
  if (session_.begins()) {
    EXPECT_EQ(MPI_Pready_range(0, kPartitions - 1, request), MPI_SUCCESS);
  } else {
    int has_arrived = 0;
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS && has_arrived == 0) code = MPI_Parrived(request, 2, &has_arrived);
    expect_error(code, "fault injected");
  }
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  if (!session_.begins()) {
    EXPECT_EQ(find_pattern_error(memory.read(), session_.partner(), 4), "");
  }
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  expect_messages_work();
}
#else
TEST_F(Fault, PreadyReturnsAnError_WhenItsCopyFails) {
  GTEST_SKIP() << "this host MPI has no partitioned communication (MPI_Psend_init)";
}
TEST_F(Fault, ParrivedReturnsAnError_WhenItsCopyFails) {
  GTEST_SKIP() << "this host MPI has no partitioned communication (MPI_Psend_init)";
}
#endif

// In force on rank 0, where messages travel in blocks: a copy down fails while others are under way.
TEST_F(Fault, BothEndsReturnAnError_WhenABlockCannotBeSent) {
  const Memory memory(session_.module(), Kind::device, kBytes);
  if (session_.begins()) {
    expect_error(MPI_Send(memory.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_), "fault injected");
  } else {
    expect_error(MPI_Recv(memory.data(), kBytes, MPI_BYTE, session_.partner(), kTag, comm_, MPI_STATUS_IGNORE),
                 "the sender");
  }
  expect_messages_work();
}

// No fault in force: the pointer itself is bad.
TEST_F(Fault, SendReturnsAnError_WhenThePointerWasFreed) {
  void *freed = nullptr;
  {
    const Memory gone(session_.module(), Kind::device, kBytes);
    freed = gone.data();
  }
  if (session_.begins()) {
    expect_error(MPI_Send(freed, kBytes, MPI_BYTE, session_.partner(), kTag, comm_), "freed");
    MPI_Request request = MPI_REQUEST_NULL;
    expect_error(MPI_Irecv(freed, kBytes, MPI_BYTE, session_.partner(), kTag, comm_, &request), "freed");
    tell(kTag);
  } else {
    hear(kTag);
  }
  expect_messages_work();
}

// In force: no backend on the odd ranks, which use host memory only.
TEST_F(Fault, MessagesArrive_WhenARankHasNoDevice) {
  const Kind kind = session_.begins() ? Kind::device : Kind::host;
  for (const int size_bytes : {8, 40'000, 1'000'000}) {
    const Memory in(session_.module(), kind, static_cast<std::size_t>(size_bytes));
    const Memory out(session_.module(), kind, static_cast<std::size_t>(size_bytes));
    in.fill_pattern(session_.rank(), 3);
    EXPECT_EQ(MPI_Sendrecv(in.data(), size_bytes, MPI_BYTE, session_.partner(), kTag, out.data(), size_bytes, MPI_BYTE,
                           session_.partner(), kTag, comm_, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    EXPECT_EQ(find_pattern_error(out.read(), session_.partner(), 3), "");
  }
}

}  // namespace
}  // namespace sluice::tests
