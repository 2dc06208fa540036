// SPDX-License-Identifier: BSD-3-Clause
// What is particular to the engine dwq (docs/adr/0034): messages outside the host MPI, told apart by peer, communicator
// and tag; and what goes by the host MPI all the same. The other tests of queues run with it, too, but for those in
// which the other side is a plain message.
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/ranks/queue/functions.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::deferred_work_test {
namespace {

constexpr int kTag = 91;
constexpr int kHostTag = 92;
constexpr int kBytes = 20011;

Memory make(Kind kind, std::size_t size_bytes = kBytes) {
  return {Session::get().module(), kind, size_bytes};
}

// The name by which SLUICE_QUEUE_ENGINE asked for this engine, and the statistics name what ran.
const char *engine_wanted() {
  const char *engine = std::getenv("SLUICE_QUEUE_ENGINE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return engine != nullptr ? engine : "auto";
}

// What carries the messages: the test's environment says so where it is not what was asked for.
const char *engine_expected() {
  const char *expected = std::getenv("TEST_QUEUE_ENGINE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return expected != nullptr ? expected : engine_wanted();
}

#define SKIP_WITHOUT_DWQ() \
  SKIP_WITHOUT_QUEUES();   \
  if (std::strcmp(engine_wanted(), "dwq") != 0) GTEST_SKIP() << "missing: SLUICE_QUEUE_ENGINE=dwq"

// A queue on a communicator of the test's own.
class CommQueue {
 public:
  CommQueue(MPI_Comm comm, const ProgramStream &stream) : comm_(comm) {
    EXPECT_MPI(mpix().create(comm, stream.native(), &queue_));
  }
  ~CommQueue() {
    EXPECT_MPI(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    EXPECT_MPI(mpix().free(queue_));
    EXPECT_MPI(MPI_Comm_free(&comm_));
  }
  CommQueue(const CommQueue &) = delete;
  CommQueue &operator=(const CommQueue &) = delete;

  MPIX_Queue get() const { return queue_; }
  MPI_Request &next() { return requests_.emplace_back(MPI_REQUEST_NULL); }

 private:
  MPI_Comm comm_;
  MPIX_Queue queue_ = MPIX_QUEUE_NULL;
  std::vector<MPI_Request> requests_;
};

MPI_Comm duplicate() {
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Comm_dup(Session::get().comm(), &comm));
  return comm;
}

MPI_Comm split() {
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Comm_split(Session::get().comm(), 0, Session::get().rank(), &comm));
  EXPECT_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  return comm;
}

}  // namespace

TEST(DeferredWork, NothingGoesBeforeTheStreamComesToTheStart) {
  SKIP_WITHOUT_DWQ();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  ProgramStream stream;
  TestQueue queue(stream);
  if (session.begins()) {
    memory.fill_pattern(session.rank(), 1);
    stream.close_gate();
    queue.send(memory.data(), kBytes, kTag, peer);
    queue.start();
    queue.wait();
    EXPECT_MPI(MPI_Send(nullptr, 0, MPI_BYTE, peer, kHostTag, session.comm()));
    EXPECT_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, peer, kHostTag, session.comm(), MPI_STATUS_IGNORE));
    stream.open_gates();
  } else {
    MPI_Request &request = queue.recv(memory.data(), kBytes, kTag, peer);
    queue.start();
    EXPECT_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, peer, kHostTag, session.comm(), MPI_STATUS_IGNORE));
    for (int look = 0; look < 50; ++look) {
      int is_done = 1;
      EXPECT_MPI(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE));
      EXPECT_EQ(is_done, 0);
    }
    EXPECT_MPI(MPI_Send(nullptr, 0, MPI_BYTE, peer, kHostTag, session.comm()));
    queue.wait();
  }
  stream.synchronize();
  queue.complete();
  if (!session.begins()) {
    EXPECT_EQ(find_pattern_error(memory.read(), peer, 1), "");
  }
}

// Long ones and short ones, of the device and of the host, whole and with gaps, in one batch.
TEST(DeferredWork, LengthsKindsAndTypes) {
  SKIP_WITHOUT_DWQ();
  const Session &session = Session::get();
  constexpr std::array<int, 5> kSizes = {0, 1, 255, 70001, 3000017};
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_vector(300, 3, 8, MPI_BYTE, &gaps));
  EXPECT_MPI(MPI_Type_commit(&gaps));
  ProgramStream stream;
  TestQueue queue(stream);
  std::vector<Memory> in;
  std::vector<Memory> out;
  for (const Kind kind : {Kind::device, Kind::host}) {
    for (const int bytes : kSizes) {
      in.push_back(make(kind, static_cast<std::size_t>(bytes) + 1));
      out.push_back(make(kind, static_cast<std::size_t>(bytes) + 1));
      out.back().fill_pattern(session.rank(), bytes);
      queue.recv(in.back().data(), bytes, kTag, session.partner());
      queue.send(out.back().data(), bytes, kTag, session.partner());
    }
  }
  const Memory gaps_in = make(Kind::host, 2400);
  const Memory gaps_out = make(Kind::host, 2400);
  gaps_out.fill_pattern(session.rank(), 6);
  queue.recv(gaps_in.data(), 1, kTag, session.partner(), gaps);
  queue.send(gaps_out.data(), 1, kTag, session.partner(), gaps);
  EXPECT_MPI(MPI_Type_free(&gaps));
  queue.start();
  queue.wait();
  stream.synchronize();
  queue.complete();
  for (std::size_t k = 0; k < in.size(); ++k) {
    const auto bytes = static_cast<std::size_t>(kSizes[k % kSizes.size()]);
    EXPECT_EQ(find_pattern_error(in[k].read(0, bytes), session.partner(), static_cast<int>(bytes)), "") << k;
    EXPECT_EQ(in[k].read(bytes, 1)[0], kPoison) << k;
  }
  const Bytes bytes = gaps_in.read();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(bytes[i], i % 8 < 3 ? pattern_byte(session.partner(), i, 6) : kPoison) << "byte " << i;
  }
}

// One tag on two duplicates, received in the other order: each message comes on its own communicator.
TEST(DeferredWork, CommunicatorsAreApart) {
  SKIP_WITHOUT_DWQ();
  const Session &session = Session::get();
  const int peer = session.partner();
  ProgramStream stream;
  CommQueue one(duplicate(), stream);
  CommQueue two(duplicate(), stream);
  std::vector<Memory> in;
  std::vector<Memory> out;
  for (int k = 0; k < 2; ++k) {
    in.push_back(make(Kind::device));
    out.push_back(make(Kind::device));
    out.back().fill_pattern(session.rank(), 10 + k);
  }
  EXPECT_MPI(mpix().recv(in[1].data(), kBytes, MPI_BYTE, peer, kTag, two.get(), &two.next()));
  EXPECT_MPI(mpix().recv(in[0].data(), kBytes, MPI_BYTE, peer, kTag, one.get(), &one.next()));
  EXPECT_MPI(mpix().send(out[0].data(), kBytes, MPI_BYTE, peer, kTag, one.get(), &one.next()));
  EXPECT_MPI(mpix().send(out[1].data(), kBytes, MPI_BYTE, peer, kTag, two.get(), &two.next()));
  for (CommQueue *queue : {&two, &one}) EXPECT_MPI(mpix().start(queue->get()));
  for (CommQueue *queue : {&two, &one}) EXPECT_MPI(mpix().wait(queue->get()));
  stream.synchronize();
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(find_pattern_error(in[static_cast<std::size_t>(k)].read(), peer, 10 + k), "") << k;
  }
}

// Two that only the host MPI can tell apart: the second is refused, and the first goes on.
TEST(DeferredWork, CommunicatorsThatCannotBeToldApart_AreRefused) {
  SKIP_WITHOUT_DWQ();
  if (std::strcmp(engine_expected(), "dwq") != 0) GTEST_SKIP() << "missing: the engine dwq";
  const Session &session = Session::get();
  const int peer = session.partner();
  ProgramStream stream;
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  out.fill_pattern(session.rank(), 20);
  {
    CommQueue first(split(), stream);
    EXPECT_MPI(mpix().recv(in.data(), kBytes, MPI_BYTE, peer, kTag, first.get(), &first.next()));
    {
      CommQueue second(split(), stream);
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = mpix().send(out.data(), kBytes, MPI_BYTE, peer, kTag, second.get(), &request);
      EXPECT_EQ(class_of(code), MPI_ERR_OTHER);
      EXPECT_NE(text_of(code).find("MPI_Comm_dup"), std::string::npos) << text_of(code);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
    }
    EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, peer, kTag, first.get(), &first.next()));
    EXPECT_MPI(mpix().start(first.get()));
    EXPECT_MPI(mpix().wait(first.get()));
    stream.synchronize();
    EXPECT_EQ(find_pattern_error(in.read(), peer, 20), "");
  }
  // A communicator that is gone is in nobody's way.
  CommQueue third(split(), stream);
  EXPECT_MPI(mpix().recv(in.data(), kBytes, MPI_BYTE, peer, kTag, third.get(), &third.next()));
  EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, peer, kTag, third.get(), &third.next()));
  EXPECT_MPI(mpix().start(third.get()));
  EXPECT_MPI(mpix().wait(third.get()));
  stream.synchronize();
}

// The statistics name what ran: the network between ranks, the host MPI within one.
TEST(DeferredWork, IsCounted) {
  SKIP_WITHOUT_DWQ();
  const Session &session = Session::get();
  const auto count = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "sluice_statistics_count"));
  ASSERT_NE(count, nullptr);
  const int was_on = count(1);
  const long long carried = calls_by("MPIX_Enqueue_send", engine_expected());
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  ProgramStream stream;
  TestQueue queue(stream);
  queue.recv(in.data(), kBytes, kTag, session.partner());
  queue.send(out.data(), kBytes, kTag, session.partner());
  queue.start();
  queue.complete();
  EXPECT_EQ(calls_by("MPIX_Enqueue_send", engine_expected()), carried + 1);
  const long long own = calls_by("MPIX_Enqueue_send", "thread");
  queue.recv(in.data(), kBytes, kTag, session.rank());
  queue.send(out.data(), kBytes, kTag, session.rank());
  queue.start();
  queue.complete();
  EXPECT_EQ(calls_by("MPIX_Enqueue_send", "thread"), own + 1);
  count(was_on);
}

}  // namespace sluice::tests::deferred_work_test
