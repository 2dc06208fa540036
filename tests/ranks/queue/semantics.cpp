// SPDX-License-Identifier: BSD-3-Clause
// What arXiv 2208.04817 promises in section III, a test for each sentence. No test asserts a time: gates in the stream
// say "not yet", and messages between the hosts say "now".
#include <array>
#include <vector>

#include "tests/ranks/queue/functions.hpp"

namespace sluice::tests::semantics_test {
namespace {

constexpr int kTag = 41;
constexpr int kHostTag = 42;  // between the hosts
constexpr int kBytes = 30011;

Memory make(Kind kind, std::size_t size_bytes = kBytes) {
  return {Session::get().module(), kind, size_bytes};
}

void tell(int peer) {
  EXPECT_MPI(MPI_Send(nullptr, 0, MPI_BYTE, peer, kHostTag, Session::get().comm()));
}

void hear(int peer) {
  EXPECT_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, peer, kHostTag, Session::get().comm(), MPI_STATUS_IGNORE));
}

bool is_message_there(int peer) {
  int is_there = 0;
  EXPECT_MPI(MPI_Iprobe(peer, kTag, Session::get().comm(), &is_there, MPI_STATUS_IGNORE));
  return is_there != 0;
}

// The device's copy of a message, read as what comes next in the stream would.
void expect_arrived(const ProgramStream &stream, const Memory &device, int source, int iteration) {
  const Memory landed = make(Kind::pinned, device.size_bytes());
  stream.copy(landed.data(), device.data(), device.size_bytes());
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(landed.read(), source, iteration), "");
}

// The receiver's part: as long as the sender has not begun, no message is there; then it comes whole.
void receive_only_when_told(const Memory &memory, int peer, int iteration) {
  hear(peer);
  for (int look = 0; look < 100; ++look) EXPECT_FALSE(is_message_there(peer));
  tell(peer);
  EXPECT_MPI(MPI_Recv(memory.data(), kBytes, MPI_BYTE, peer, kTag, Session::get().comm(), MPI_STATUS_IGNORE));
  EXPECT_EQ(find_pattern_error(memory.read(), peer, iteration), "");
}

}  // namespace

// III.B: "The enqueue operations return immediately"; III.B.2.1: "deferred until the GPU CP triggers the execution".
TEST(Semantics, EnqueueReturnsAtOnce_AndNothingGoesBeforeTheStreamComesToTheStart) {
  SKIP_WITHOUT_QUEUES();
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
    stream.mark();
    // All of that has returned while the stream stands at the gate.
    tell(peer);
    hear(peer);
    EXPECT_FALSE(stream.has_come());
    stream.open_gates();
    stream.synchronize();
    EXPECT_TRUE(stream.has_come());
    queue.complete();
  } else {
    receive_only_when_told(memory, peer, 1);
  }
}

// III.B.3: the start "allows to specify when the enqueued operations must be executed".
TEST(Semantics, WithoutAStart_NothingGoes) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  ProgramStream stream;
  TestQueue queue(stream);
  if (session.begins()) {
    memory.fill_pattern(session.rank(), 2);
    MPI_Request &request = queue.send(memory.data(), kBytes, kTag, peer);
    stream.synchronize();
    int is_done = 0;
    for (int look = 0; look < 20; ++look) {
      EXPECT_MPI(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE));
      EXPECT_EQ(is_done, 0);
    }
    tell(peer);
    hear(peer);
    queue.start();
    queue.complete();
  } else {
    receive_only_when_told(memory, peer, 2);
  }
}

// III.B.3: "all previously enqueued operations are executed in batch by a single start"; figure 7 of the paper.
TEST(Semantics, OneStart_StartsTheWholeBatch) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  constexpr std::array<int, 4> kTags = {123, 126, 125, 124};
  ProgramStream stream;
  TestQueue queue(stream);
  std::vector<Memory> memories;
  for (std::size_t k = 0; k < kTags.size(); ++k) memories.push_back(make(Kind::device));
  for (std::size_t k = 0; k < kTags.size(); ++k) {
    if (session.begins()) {
      memories[k].fill_pattern(session.rank(), kTags[k]);
      queue.send(memories[k].data(), kBytes, kTags[k], peer);
    } else {
      queue.recv(memories[k].data(), kBytes, kTags[k], peer);
    }
  }
  queue.start();
  queue.wait();
  if (!session.begins()) {
    for (std::size_t k = 0; k < kTags.size(); ++k) expect_arrived(stream, memories[k], peer, kTags[k]);
  }
  stream.synchronize();
  queue.complete();
}

// III.B.1: "executed in FIFO order": batches whose messages all have one tag, enqueued all at once.
TEST(Semantics, Batches_GoInTheirOrder) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  constexpr int kBatches = 8;
  constexpr int kOfBatch = 3;
  constexpr int kShort = 1009;
  ProgramStream stream;
  TestQueue queue(stream);
  std::vector<Memory> memories;
  for (int k = 0; k < kBatches * kOfBatch; ++k) {
    memories.push_back(make(k % 2 == 0 ? Kind::device : Kind::host, kShort));
    if (session.begins()) memories.back().fill_pattern(session.rank(), k);
  }
  stream.close_gate();
  for (int k = 0; k < kBatches * kOfBatch; ++k) {
    void *data = memories[static_cast<std::size_t>(k)].data();
    session.begins() ? queue.send(data, kShort, kTag, peer) : queue.recv(data, kShort, kTag, peer);
    if (k % kOfBatch == kOfBatch - 1) queue.start();
    if (k % (2 * kOfBatch) == 0) queue.start();  // and batches in which there is little or nothing
  }
  queue.start();
  queue.wait();
  stream.mark();
  EXPECT_FALSE(stream.has_come());
  stream.open_gates();
  stream.synchronize();
  for (int k = 0; !session.begins() && k < kBatches * kOfBatch; ++k) {
    EXPECT_EQ(find_pattern_error(memories[static_cast<std::size_t>(k)].read(), peer, k), "") << "message " << k;
  }
  queue.complete();
}

// III.B.2.2: "Once enqueued, kernels can make changes to these buffers until the execution of the stream memory write".
TEST(Semantics, TheStreamMayWriteTheBuffer_UntilItComesToTheStart) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  ProgramStream stream;
  TestQueue queue(stream);
  for (int iteration = 0; iteration < 5; ++iteration) {
    if (session.begins()) {
      const Memory later = make(Kind::pinned);
      const Memory after = make(Kind::pinned);  // poison
      memory.fill_pattern(session.rank(), 100);
      later.fill_pattern(session.rank(), iteration);
      queue.send(memory.data(), kBytes, kTag, peer);
      stream.close_gate();
      stream.copy(memory.data(), later.data(), kBytes);
      queue.start();
      // From the start on the next write has to wait for the message.
      queue.wait();
      stream.copy(memory.data(), after.data(), kBytes);
      stream.open_gates();
      stream.synchronize();
    } else {
      memory.fill(kPoison);
      queue.recv(memory.data(), kBytes, kTag, peer);
      queue.start();
      queue.wait();
      expect_arrived(stream, memory, peer, iteration);
    }
    queue.complete();
  }
}

// III.B.4 and III.B.2.3: the wait is for the stream; the host does not synchronise.
TEST(Semantics, Wait_BlocksTheStreamAndNotTheHost) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  ProgramStream stream;
  TestQueue queue(stream);
  if (session.begins()) {
    const Memory landed = make(Kind::pinned);
    queue.recv(memory.data(), kBytes, kTag, peer);
    stream.mark();
    queue.start();
    queue.wait();
    stream.copy(landed.data(), memory.data(), kBytes);
    while (!stream.has_come()) std::this_thread::yield();
    stream.mark();
    // The stream is at the wait, or will be; its message is not even sent.
    for (int look = 0; look < 50; ++look) {
      EXPECT_FALSE(stream.has_come());
      EXPECT_EQ(landed.read(0, 1)[0], kPoison);
    }
    tell(peer);
    stream.synchronize();
    EXPECT_EQ(find_pattern_error(landed.read(), peer, 3), "");
    queue.complete();
  } else {
    memory.fill_pattern(session.rank(), 3);
    hear(peer);
    EXPECT_MPI(MPI_Send(memory.data(), kBytes, MPI_BYTE, peer, kTag, session.comm()));
  }
}

// III.D.1: "fully compatible with existing P2P operations", in both directions, whichever comes first.
TEST(Semantics, PlainMessages_MatchThoseOfQueues) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  for (const Kind kind : {Kind::device, Kind::host}) {
    for (const int count : {0, 777, 100000}) {
      const Memory out = make(kind, static_cast<std::size_t>(count) + 1);
      const Memory in = make(kind, static_cast<std::size_t>(count) + 1);
      out.fill_pattern(session.rank(), count);
      ProgramStream stream;
      TestQueue queue(stream);
      MPI_Request plain = MPI_REQUEST_NULL;
      MPI_Status status;
      if (session.begins()) {
        // A queue's send, a plain receive.
        queue.send(out.data(), count, kTag, peer);
        queue.start();
        EXPECT_MPI(MPI_Irecv(in.data(), count, MPI_BYTE, peer, kTag, session.comm(), &plain));
      } else {
        EXPECT_MPI(MPI_Irecv(in.data(), count, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, session.comm(), &plain));
        queue.send(out.data(), count, kTag, peer);
        queue.start();
      }
      EXPECT_MPI(MPI_Wait(&plain, &status));
      int received = -1;
      MPI_Get_count(&status, MPI_BYTE, &received);
      EXPECT_EQ(received, count);
      EXPECT_EQ(status.MPI_SOURCE, peer);
      queue.complete();
      // A plain send, a queue's receive.
      in.fill(kPoison);
      queue.recv(in.data(), count, kTag, peer);
      queue.start();
      EXPECT_MPI(MPI_Send(out.data(), count, MPI_BYTE, peer, kTag, session.comm()));
      queue.wait();
      stream.synchronize();
      EXPECT_EQ(find_pattern_error(in.read(0, static_cast<std::size_t>(count)), peer, count), "");
      EXPECT_EQ(in.read(static_cast<std::size_t>(count), 1)[0], kPoison);
      queue.complete();
    }
  }
}

// A chain that the hosts only enqueue: what a stream received is what it sends on, through kernels between.
TEST(Semantics, AChainOfMessages_NeedsNoHost) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  constexpr int kTurns = 20;
  const Memory one = make(Kind::device);
  const Memory other = make(Kind::device);
  if (session.begins()) one.fill_pattern(session.rank(), 9);
  ProgramStream stream;
  TestQueue queue(stream);
  for (int turn = 0; turn < kTurns; ++turn) {
    const bool sends = (turn % 2 == 0) == session.begins();
    if (sends) {
      stream.copy(other.data(), one.data(), kBytes);
      queue.send(other.data(), kBytes, kTag, peer);
    } else {
      queue.recv(one.data(), kBytes, kTag, peer);
    }
    queue.start();
    queue.wait();
  }
  const int first = session.begins() ? session.rank() : peer;
  expect_arrived(stream, one, first, 9);
  queue.complete();
}

// Several queues: two on one stream, one on another.
TEST(Semantics, SeveralQueuesAndStreams_AreApart) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  ProgramStream first;
  ProgramStream second;
  std::vector<Memory> in;
  std::vector<Memory> out;
  {
    TestQueue one(first);
    TestQueue two(first);
    TestQueue three(second);
    std::array<TestQueue *, 3> queues = {&one, &two, &three};
    for (int k = 0; k < 3; ++k) {
      in.push_back(make(Kind::device));
      out.push_back(make(Kind::device));
      out.back().fill_pattern(session.rank(), k);
    }
    first.close_gate();
    for (int k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(k);
      queues[at]->recv(in[at].data(), kBytes, kTag + k, peer);
      queues[at]->send(out[at].data(), kBytes, kTag + k, peer);
      queues[at]->start();
      queues[at]->wait();
    }
    // The second stream does not wait for the first.
    second.synchronize();
    EXPECT_EQ(find_pattern_error(in[2].read(), peer, 2), "");
    three.complete();
    first.open_gates();
    first.synchronize();
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(find_pattern_error(in[static_cast<std::size_t>(k)].read(), peer, k), "");
    }
    one.complete();
    two.complete();
  }
}

// III.A: "the responsibility of the users to wait before freeing"; the stream's own wait is enough for that.
TEST(Semantics, AQueueIsFree_WhenTheStreamHasPassedItsWait) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  out.fill_pattern(session.rank(), 4);
  ProgramStream stream;
  for (int round = 0; round < 10; ++round) {
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    EXPECT_MPI(mpix().create(session.comm(), stream.native(), &queue));
    EXPECT_MPI(mpix().recv(in.data(), kBytes, MPI_BYTE, peer, kTag, queue, &requests[0]));
    EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, peer, kTag, queue, &requests[1]));
    EXPECT_MPI(mpix().start(queue));
    EXPECT_MPI(mpix().wait(queue));
    stream.synchronize();
    EXPECT_MPI(mpix().free(queue));
    // Requests may outlive their queue.
    EXPECT_MPI(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_EQ(find_pattern_error(in.read(), peer, 4), "");
  }
}

// The vendor's form: a communicator with each message.
TEST(Semantics, TheVendorsForm_IsTheSame) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  out.fill_pattern(session.rank(), 6);
  ProgramStream stream;
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  EXPECT_MPI(mpix().create_of_stream(stream.native(), &queue));
  EXPECT_MPI(mpix().recv_on(in.data(), kBytes, MPI_BYTE, peer, kTag, session.comm(), queue, &requests[0]));
  EXPECT_MPI(mpix().send_on(out.data(), kBytes, MPI_BYTE, peer, kTag, session.comm(), queue, &requests[1]));
  EXPECT_MPI(mpix().start(queue));
  EXPECT_MPI(mpix().wait(queue));
  expect_arrived(stream, in, peer, 6);
  EXPECT_MPI(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
  EXPECT_MPI(mpix().free(queue));
}

}  // namespace sluice::tests::semantics_test
