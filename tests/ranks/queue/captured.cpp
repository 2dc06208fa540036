// SPDX-License-Identifier: BSD-3-Clause
// Messages captured into a graph (docs/adr/0057): each launch sends what is there then, what stands behind the wait
// comes behind the message, and launches run ahead as far as there is room.
#include <algorithm>
#include <thread>
#include <vector>

#include "tests/ranks/queue/captured_case.hpp"

namespace sluice::tests::captured_test {
namespace {

constexpr int kLaunches = 9;

// A message each way with other work between start and wait, and what was sent overwritten behind the wait.
class Exchange {
 public:
  Exchange(const ProgramStream &stream, TestQueue *queue, std::size_t size_bytes, int tag, int first)
      : size_bytes_(size_bytes),
        first_(first),
        out_(make_memory(Kind::device, size_bytes)),
        in_(make_memory(Kind::device, size_bytes + kGuardBytes)),
        waste_(make_memory(Kind::device, size_bytes)),
        other_(make_memory(Kind::device, size_bytes)),
        sent_(size_bytes, kLaunches),
        kept_(size_bytes, kLaunches),
        graph_(stream) {
    const Session &session = Session::get();
    const int count = static_cast<int>(size_bytes);
    sent_.play(stream, out_);
    queue->recv(in_.data(), count, tag, session.partner());
    queue->send(out_.data(), count, tag, session.partner());
    queue->start();
    stream.copy(other_.data(), waste_.data(), size_bytes);
    queue->wait();
    kept_.keep(stream, in_);
    stream.copy(out_.data(), waste_.data(), size_bytes);
    graph_.end();
    waste_.fill(0xC3);
    sent_.record(session.rank(), first);
    queue->complete();
  }
  void launch() const { graph_.launch(); }
  // After kLaunches.
  void expect_all() const {
    kept_.expect_kept(Session::get().partner(), first_, kLaunches);
    const Bytes behind = in_.read(size_bytes_, kGuardBytes);
    EXPECT_TRUE(std::ranges::all_of(behind, [](unsigned char byte) { return byte == kPoison; }));
  }

 private:
  std::size_t size_bytes_;
  int first_;
  Memory out_, in_, waste_, other_;
  Tape sent_, kept_;
  CapturedGraph graph_;
};

constexpr std::size_t kSizes[] = {1, 3001, 65536,
                                  150001};  // NOLINT(modernize-avoid-c-arrays): the last ones by several blocks

}  // namespace

TEST(Captured, EachLaunch_SendsWhatIsThereThen) {
  SKIP_WITHOUT_GRAPHS();
  ASSERT_TRUE(count_statistics());
  for (const std::size_t size_bytes : kSizes) {
    const long long sends = by_stream("MPIX_Enqueue_send");
    ProgramStream stream;
    TestQueue queue(stream);
    const Exchange exchange(stream, &queue, size_bytes, kTag, 100);
    EXPECT_EQ(by_stream("MPIX_Enqueue_send"), sends + 1);
    stream.close_gate();  // all launches are ahead of the stream
    for (int k = 0; k < kLaunches; ++k) exchange.launch();
    stream.open_gates();
    stream.synchronize();
    exchange.expect_all();
  }
}

// Matched in the order of capture, with the same tag; and messages that are not captured go between as ever.
TEST(Captured, SeveralGraphs_AndOtherMessagesBetween) {
  SKIP_WITHOUT_GRAPHS();
  ProgramStream stream;
  TestQueue queue(stream);
  const Exchange one(stream, &queue, 3001, kTag, 0);
  const Exchange two(stream, &queue, 150001, kTag, 50);
  const Memory in = make_memory(Kind::device, 777);
  const Memory out = make_memory(Kind::device, 777);
  for (int k = 0; k < kLaunches; ++k) {
    out.fill_pattern(Session::get().rank(), k);
    (k % 2 == 0 ? one : two).launch();
    exchange(stream, &queue, in, out, kTag, 777);
    EXPECT_EQ(find_pattern_error(in.read(), Session::get().partner(), k), "");
    (k % 2 == 0 ? two : one).launch();
  }
  stream.synchronize();
  one.expect_all();
  two.expect_all();
}

// Receives first, sends later, by another queue of the stream or the same one, and a wait for each; what stands before
// a receive's start may still read its buffer.
TEST(Captured, BatchesOneByOne_GoInTheOrderOfTheStream) {
  SKIP_WITHOUT_GRAPHS();
  constexpr std::size_t kBytes = 3001;
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue one(stream);
  TestQueue two(stream);
  for (TestQueue *sending : {&one, &two}) {
    const Memory out = make_memory(Kind::device, kBytes);
    const Memory in = make_memory(Kind::device, kBytes);
    const Memory before = make_memory(Kind::device, kBytes);
    const Tape sent(kBytes, kLaunches);
    const Tape kept(kBytes, kLaunches);
    CapturedGraph graph(stream);
    stream.copy(before.data(), in.data(), kBytes);
    one.recv(in.data(), kBytes, kTag, session.partner());
    one.start();
    sent.play(stream, out);
    sending->send(out.data(), kBytes, kTag, session.partner());
    sending->start();
    one.wait();
    kept.keep(stream, in);
    if (sending != &one) two.wait();
    graph.end();
    one.complete();
    two.complete();
    sent.record(session.rank(), 30);
    for (int k = 0; k < kLaunches; ++k) graph.launch();
    stream.synchronize();
    kept.expect_kept(session.partner(), 30, kLaunches);
    EXPECT_EQ(find_pattern_error(before.read(), session.partner(), 30 + kLaunches - 2), "");
  }
}

// One direction: the sender's stream goes on for as many launches as there are slots, then waits for the receiver's.
TEST(Captured, ASenderMayBeTwoLaunchesAhead) {
  SKIP_WITHOUT_GRAPHS();
  constexpr std::size_t kBytes = 5003;
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue queue(stream);
  const Memory memory = make_memory(Kind::device, kBytes);
  const Tape tape(kBytes, kLaunches);
  CapturedGraph graph(stream);
  if (session.begins()) {
    tape.play(stream, memory);
    queue.send(memory.data(), kBytes, kTag, session.partner());
  } else {
    queue.recv(memory.data(), kBytes, kTag, session.partner());
  }
  queue.start();
  queue.wait();
  if (!session.begins()) tape.keep(stream, memory);
  graph.end();
  queue.complete();
  if (session.begins()) {
    tape.record(session.rank(), 0);
    graph.launch();
    graph.launch();
    stream.mark();
    while (!stream.has_come()) std::this_thread::yield();  // nobody receives yet
  }
  EXPECT_MPI(MPI_Barrier(session.comm()));
  for (int k = session.begins() ? 2 : 0; k < kLaunches; ++k) graph.launch();
  stream.synchronize();
  if (!session.begins()) tape.expect_kept(session.partner(), 0, kLaunches);
}

// More messages than one node of a graph has, to all other ranks, of different lengths, none among them.
TEST(Captured, ManyMessages_ToAllOthers) {
  SKIP_WITHOUT_GRAPHS();
  constexpr int kEach = 40;
  const Session &session = Session::get();
  const auto size_of = [](int k) { return static_cast<std::size_t>(k % 10 == 3 ? 0 : 97 * k + 1); };
  ProgramStream stream;
  TestQueue queue(stream);
  std::vector<Memory> in;
  std::vector<Memory> out;
  const auto for_all = [&](const auto &visit) {
    std::size_t at = 0;
    for (int peer = 0; peer < session.size(); ++peer) {
      for (int k = 0; peer != session.rank() && k < kEach; ++k, ++at) visit(at, peer, k);
    }
  };
  // Before the capture: a runtime takes no memory meanwhile.
  for_all([&](std::size_t /*at*/, int /*peer*/, int k) {
    in.push_back(make_memory(Kind::device, size_of(k) + 3));
    out.push_back(make_memory(Kind::device, size_of(k) + 3));
  });
  CapturedGraph graph(stream);
  for_all([&](std::size_t at, int peer, int k) {
    queue.recv(in[at].data(), static_cast<int>(size_of(k)) + 3, k, peer);
    queue.send(out[at].data(), static_cast<int>(size_of(k)), k, peer);  // shorter than what is received into
  });
  queue.start();
  queue.wait();
  graph.end();
  queue.complete();
  for (int launch = 0; launch < 3; ++launch) {
    for (const Memory &memory : out) memory.fill_pattern(session.rank(), launch);
    graph.launch();
    stream.synchronize();
    for_all([&](std::size_t at, int peer, int k) {
      EXPECT_EQ(find_pattern_error(in[at].read(0, size_of(k)), peer, launch), "") << "from " << peer << ", tag " << k;
      EXPECT_EQ(in[at].read(size_of(k), 3), Bytes(3, kPoison));
    });
  }
}

TEST(Captured, AMessageToNobody_IsNone) {
  SKIP_WITHOUT_GRAPHS();
  ProgramStream stream;
  TestQueue queue(stream);
  const Memory memory = make_memory(Kind::device, 64);
  MPI_Request request = MPI_REQUEST_NULL;
  CapturedGraph graph(stream);
  EXPECT_MPI(mpix().recv(memory.data(), 64, MPI_BYTE, MPI_PROC_NULL, kTag, queue.get(), &request));
  queue.start();
  queue.wait();
  stream.copy(memory.at(32), memory.data(), 32);
  graph.end();
  MPI_Status status{};
  EXPECT_MPI(MPI_Wait(&request, &status));
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  graph.launch();
  stream.synchronize();
}

// As the only rank of a job does, of a program whose step is a graph.
TEST(Captured, ARankAlone_CapturesAStepWithoutMessages) {
  SKIP_WITHOUT_GRAPHS();
  ProgramStream stream;
  TestQueue queue(stream, MPI_COMM_SELF);
  const Memory memory = make_memory(Kind::device, 64);
  CapturedGraph graph(stream);
  queue.recv(memory.data(), 32, kTag, MPI_PROC_NULL);
  queue.start();
  queue.wait();
  stream.copy(memory.at(32), memory.data(), 32);
  queue.start();
  queue.wait();
  graph.end();
  queue.complete();
  for (int launch = 0; launch < 3; ++launch) {
    Bytes sent(32);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = pattern_byte(0, i, launch);
    memory.write(0, sent.data(), sent.size());
    graph.launch();
    stream.synchronize();
    EXPECT_EQ(memory.read(32, 32), sent) << "launch " << launch;
  }
}

// A graph's messages are counted when their communicator goes, each launch once; and the next one's begin anew.
TEST(Captured, LaunchesAreCounted_WhenTheCommunicatorGoes) {
  SKIP_WITHOUT_GRAPHS();
  ASSERT_TRUE(count_statistics());
  const Session &session = Session::get();
  const Memory out = make_memory(Kind::device, 64);
  const Memory in = make_memory(Kind::device, 64);
  for (int round = 0; round < 3; ++round) {
    const long long sends = by_stream("MPIX_Enqueue_send");
    const long long receives = by_stream("MPIX_Enqueue_recv");
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_MPI(MPI_Comm_dup(session.comm(), &comm));
    {
      ProgramStream stream;
      MPIX_Queue queue = MPIX_QUEUE_NULL;
      std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
      EXPECT_MPI(mpix().create(comm, stream.native(), &queue));
      CapturedGraph graph(stream);
      EXPECT_MPI(mpix().recv(in.data(), 64, MPI_BYTE, session.partner(), kTag, queue, &requests[0]));
      EXPECT_MPI(mpix().send(out.data(), 64, MPI_BYTE, session.partner(), kTag, queue, &requests[1]));
      EXPECT_MPI(mpix().start(queue));
      EXPECT_MPI(mpix().wait(queue));
      graph.end();
      EXPECT_MPI(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
      for (int k = 0; k < kLaunches; ++k) {
        out.fill_pattern(session.rank(), k);
        graph.launch();
        stream.synchronize();
        EXPECT_EQ(find_pattern_error(in.read(), session.partner(), k), "");
      }
      EXPECT_MPI(mpix().free(queue));
    }
    EXPECT_MPI(MPI_Comm_free(&comm));
    EXPECT_EQ(by_stream("MPIX_Enqueue_send"), sends + 1 + kLaunches);
    // The receiver goes when it takes in that the sender has gone. These messages are the thread's.
    const Memory host_in = make_memory(Kind::host, 8);
    const Memory host_out = make_memory(Kind::host, 8);
    ProgramStream stream;
    TestQueue queue(stream);
    while (session.agree_any(by_stream("MPIX_Enqueue_recv") < receives + 1 + kLaunches)) {
      exchange(stream, &queue, host_in, host_out, kTag + 5, 8);
    }
    EXPECT_EQ(by_stream("MPIX_Enqueue_recv"), receives + 1 + kLaunches);
  }
}

}  // namespace sluice::tests::captured_test
