// SPDX-License-Identifier: BSD-3-Clause
// The requests of queues beside all others: every completion call, statuses, freeing, cancelling; types, lengths and
// partners that are special; what the statistics say.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "tests/ranks/queue/functions.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::completion_test {
namespace {

constexpr int kTag = 51;
constexpr int kBytes = 5003;
constexpr int kMessages = 6;

// kMessages to the partner and back, of which every other one is a plain MPI_Isend or MPI_Irecv.
class MixedExchange {
 public:
  explicit MixedExchange(int epoch) : epoch_(epoch), queue_(stream_) {
    const Session &session = Session::get();
    for (int k = 0; k < kMessages; ++k) {
      const Kind kind = k % 3 == 0 ? Kind::host : Kind::device;
      in_.emplace_back(session.module(), kind, bytes_of(k));
      out_.emplace_back(session.module(), kind, bytes_of(k));
      out_.back().fill_pattern(session.rank(), epoch + k);
    }
    for (int k = 0; k < kMessages; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const int count = static_cast<int>(bytes_of(k));
      if (k % 2 == 0) {
        EXPECT_MPI(mpix().recv(in_[at].data(), count, MPI_BYTE, session.partner(), kTag + k, queue_.get(), &next()));
        EXPECT_MPI(mpix().send(out_[at].data(), count, MPI_BYTE, session.partner(), kTag + k, queue_.get(), &next()));
      } else {
        EXPECT_MPI(MPI_Irecv(in_[at].data(), count, MPI_BYTE, session.partner(), kTag + k, session.comm(), &next()));
        EXPECT_MPI(MPI_Isend(out_[at].data(), count, MPI_BYTE, session.partner(), kTag + k, session.comm(), &next()));
      }
    }
    queue_.start();
  }

  std::vector<MPI_Request> &requests() { return requests_; }
  int count() const { return static_cast<int>(requests_.size()); }

  // Request `index` is complete with *status.
  void expect_status(int index, const MPI_Status &status) {
    ASSERT_FALSE(is_seen_.at(static_cast<std::size_t>(index))) << "request " << index << " completed twice";
    is_seen_.at(static_cast<std::size_t>(index)) = true;
    if (index % 2 != 0) return;  // of a send a status says nothing
    int received = -1;
    MPI_Get_count(&status, MPI_BYTE, &received);
    EXPECT_EQ(received, static_cast<int>(bytes_of(index / 2)));
    EXPECT_EQ(status.MPI_SOURCE, Session::get().partner());
    EXPECT_EQ(status.MPI_TAG, kTag + index / 2);
    int is_cancelled = 1;
    MPI_Test_cancelled(&status, &is_cancelled);
    EXPECT_EQ(is_cancelled, 0);
  }

  void expect_all() {
    for (int k = 0; k < kMessages; ++k) {
      EXPECT_EQ(find_pattern_error(in_[static_cast<std::size_t>(k)].read(), Session::get().partner(), epoch_ + k), "");
    }
    EXPECT_TRUE(std::ranges::all_of(is_seen_, [](bool is_seen) { return is_seen; }));
    EXPECT_TRUE(std::ranges::all_of(requests_, [](MPI_Request request) { return request == MPI_REQUEST_NULL; }));
  }

 private:
  static std::size_t bytes_of(int k) { return static_cast<std::size_t>(kBytes + 7 * k); }
  MPI_Request &next() { return requests_.emplace_back(MPI_REQUEST_NULL); }

  int epoch_;
  ProgramStream stream_;
  TestQueue queue_;
  std::vector<Memory> in_;
  std::vector<Memory> out_;
  std::vector<MPI_Request> requests_;
  std::vector<bool> is_seen_ = std::vector<bool>(2 * kMessages, false);
};

}  // namespace

TEST(Requests, CompleteInOneWaitall) {
  SKIP_WITHOUT_QUEUES();
  MixedExchange exchange(100);
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(exchange.count()));
  EXPECT_MPI(MPI_Waitall(exchange.count(), exchange.requests().data(), statuses.data()));
  for (int i = 0; i < exchange.count(); ++i) exchange.expect_status(i, statuses[static_cast<std::size_t>(i)]);
  exchange.expect_all();
}

TEST(Requests, CompleteByTestall) {
  SKIP_WITHOUT_QUEUES();
  MixedExchange exchange(200);
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(exchange.count()));
  for (int is_done = 0; is_done == 0;) {
    EXPECT_MPI(MPI_Testall(exchange.count(), exchange.requests().data(), &is_done, statuses.data()));
  }
  for (int i = 0; i < exchange.count(); ++i) exchange.expect_status(i, statuses[static_cast<std::size_t>(i)]);
  exchange.expect_all();
}

TEST(Requests, CompleteOneByOne) {
  SKIP_WITHOUT_QUEUES();
  MixedExchange exchange(300);
  MPI_Status status;
  for (int n_done = 0; n_done < exchange.count(); ++n_done) {
    int index = MPI_UNDEFINED;
    EXPECT_MPI(MPI_Waitany(exchange.count(), exchange.requests().data(), &index, &status));
    ASSERT_NE(index, MPI_UNDEFINED);
    exchange.expect_status(index, status);
  }
  exchange.expect_all();
}

TEST(Requests, CompleteInGroups) {
  SKIP_WITHOUT_QUEUES();
  MixedExchange exchange(400);
  const auto count = static_cast<std::size_t>(exchange.count());
  std::vector<int> indices(count);
  std::vector<MPI_Status> statuses(count);
  for (int n_done = 0; n_done < exchange.count();) {
    int n = 0;
    EXPECT_MPI(MPI_Waitsome(exchange.count(), exchange.requests().data(), &n, indices.data(), statuses.data()));
    ASSERT_NE(n, MPI_UNDEFINED);
    for (int k = 0; k < n; ++k) {
      exchange.expect_status(indices[static_cast<std::size_t>(k)], statuses[static_cast<std::size_t>(k)]);
    }
    n_done += n;
  }
  exchange.expect_all();
}

TEST(Requests, CompleteByTestAndGetStatus) {
  SKIP_WITHOUT_QUEUES();
  MixedExchange exchange(500);
  MPI_Status status;
  for (int i = 0; i < exchange.count(); ++i) {
    MPI_Request &request = exchange.requests()[static_cast<std::size_t>(i)];
    int is_done = 0;
    while (is_done == 0) EXPECT_MPI(MPI_Request_get_status(request, &is_done, &status));
    is_done = 0;
    EXPECT_MPI(MPI_Test(&request, &is_done, &status));
    EXPECT_EQ(is_done, 1);
    exchange.expect_status(i, status);
  }
  exchange.expect_all();
}

// Freed requests: the message goes all the same. Cancelled ones: MPI_Cancel has no effect.
TEST(Requests, FreedAndCancelledOnes_AreCarriedOut) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  out.fill_pattern(session.rank(), 8);
  ProgramStream stream;
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  EXPECT_MPI(mpix().create(session.comm(), stream.native(), &queue));
  EXPECT_MPI(mpix().recv(in.data(), kBytes, MPI_BYTE, session.partner(), kTag, queue, &requests[0]));
  EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, session.partner(), kTag, queue, &requests[1]));
  EXPECT_MPI(MPI_Cancel(&requests[0]));
  EXPECT_MPI(MPI_Request_free(&requests[1]));
  EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
  EXPECT_MPI(mpix().start(queue));
  EXPECT_MPI(mpix().wait(queue));
  MPI_Status status;
  EXPECT_MPI(MPI_Wait(&requests[0], &status));
  int is_cancelled = 1;
  MPI_Test_cancelled(&status, &is_cancelled);
  EXPECT_EQ(is_cancelled, 0);
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 8), "");
  stream.synchronize();
  EXPECT_MPI(mpix().free(queue));
}

// A type that is freed as soon as the message is enqueued; its gaps are left alone.
TEST(Requests, TypesMayBeFreedAtOnce) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  constexpr int kBlocks = 300;
  const Memory in(session.module(), Kind::device, kBlocks * 8);
  const Memory out(session.module(), Kind::device, kBlocks * 8);
  out.fill_pattern(session.rank(), 2);
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(kBlocks, 3, 8, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  queue.recv(in.data(), 1, kTag, session.partner(), type);
  queue.send(out.data(), 1, kTag, session.partner(), type);
  MPI_Type_free(&type);
  queue.start();
  queue.wait();
  stream.synchronize();
  const Bytes bytes = in.read();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned char expected = i % 8 < 3 ? pattern_byte(session.partner(), i, 2) : kPoison;
    ASSERT_EQ(bytes[i], expected) << "byte " << i;
  }
  queue.complete();
}

TEST(Requests, NothingNobodyAndOneself) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  out.fill_pattern(session.rank(), 5);
  ProgramStream stream;
  TestQueue queue(stream);
  queue.recv(in.data(), kBytes, kTag, MPI_PROC_NULL);
  queue.send(out.data(), kBytes, kTag, MPI_PROC_NULL);
  queue.recv(in.data(), 0, kTag, session.partner());
  queue.send(out.data(), 0, kTag, session.partner());
  queue.recv(in.data(), kBytes, kTag, session.rank());
  queue.send(out.data(), kBytes, kTag, session.rank());
  queue.start();
  queue.wait();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.rank(), 5), "");
  queue.complete();
}

// A message that is too long: told by its request; the stream goes on, and so does the queue.
TEST(Requests, ATruncatedOne_TellsAndHoldsUpNothing) {
  SKIP_WITHOUT_QUEUES();
  if (aborts_on_truncation()) GTEST_SKIP() << "missing: a host MPI that lives after a truncated receive";
  const Session &session = Session::get();
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  out.fill_pattern(session.rank(), 5);
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  if (session.begins()) {
    EXPECT_MPI(mpix().recv(in.data(), 100, MPI_BYTE, session.partner(), kTag, queue.get(), &request));
  } else {
    EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, session.partner(), kTag, queue.get(), &request));
  }
  queue.start();
  queue.wait();
  stream.synchronize();
  MPI_Status status;
  const int code = MPI_Wait(&request, &status);
  if (session.begins()) {
    EXPECT_EQ(class_of(code), MPI_ERR_TRUNCATE) << text_of(code);
  } else {
    EXPECT_MPI(code);
  }
  const Bytes bytes = in.read(100, kBytes - 100);
  EXPECT_TRUE(std::ranges::all_of(bytes, [](unsigned char byte) { return byte == kPoison; }));
  queue.recv(in.data(), kBytes, kTag, session.partner());
  queue.send(out.data(), kBytes, kTag, session.partner());
  queue.start();
  queue.wait();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 5), "");
  queue.complete();
}

// What ran is named: the engine, and beneath it the route of each message.
TEST(Requests, AreCountedByTheEngine) {
  SKIP_WITHOUT_QUEUES();
  const auto count = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "sluice_statistics_count"));
  ASSERT_NE(count, nullptr);
  const int was_on = count(1);
  const char *wanted = std::getenv("SLUICE_QUEUE_ENGINE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const char *engine = wanted != nullptr ? wanted : "thread";
  const long long sends = calls_by("MPIX_Enqueue_send", engine);
  const long long receives = calls_by("MPIX_Enqueue_recv", engine);
  MixedExchange exchange(600);
  EXPECT_MPI(MPI_Waitall(exchange.count(), exchange.requests().data(), MPI_STATUSES_IGNORE));
  EXPECT_EQ(calls_by("MPIX_Enqueue_send", engine), sends + kMessages / 2);
  EXPECT_EQ(calls_by("MPIX_Enqueue_recv", engine), receives + kMessages / 2);
  count(was_on);
}

}  // namespace sluice::tests::completion_test
