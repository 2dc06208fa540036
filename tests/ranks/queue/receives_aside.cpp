// SPDX-License-Identifier: BSD-3-Clause
// What holds wherever a stream's receives go, behind its wait or aside of it (docs/adr/0052): one that still waits for
// its message holds up no later start, no other request and no other queue, and needs no wait of the stream's.
// SLUICE_QUEUE_ASIDE says where they go.
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/ranks/queue/channel_case.hpp"

namespace sluice::tests::receives_aside_test {
namespace {

constexpr int kBytes = 30011;
constexpr int kLaterTag = kTag + 1;
constexpr int kTellTag = kTag + 2;

class ReceivesAside : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_CHANNELS();
    ASSERT_TRUE(count_statistics());
    stream_ = std::make_unique<ProgramStream>();
    queue_ = std::make_unique<TestQueue>(stream());
    warm_up(stream(), &queue(), kTag, kBytes);
    warm_up(stream(), &queue(), kLaterTag, kBytes);
  }

  ProgramStream &stream() { return *stream_; }
  TestQueue &queue() { return *queue_; }
  bool begins() const { return session_.begins(); }

  MPI_Request &receive(TestQueue *queue, const Memory &memory, int tag) const {
    return queue->recv(memory.data(), kBytes, tag, session_.partner());
  }
  // Message k of this rank, out of memory that stays.
  void send(TestQueue *queue, int k, int tag) {
    sent_.push_back(make_memory(Kind::device, kBytes));
    sent_.back().fill_pattern(session_.rank(), k);
    queue->send(sent_.back().data(), kBytes, tag, session_.partner());
  }
  // The same, started and complete.
  void bring(TestQueue *queue, int k, int tag) {
    send(queue, k, tag);
    queue->start();
    queue->complete();
  }
  // A word from the one rank to the other, by the host.
  void tell() const { EXPECT_MPI(MPI_Send(nullptr, 0, MPI_BYTE, session_.partner(), kTellTag, session_.comm())); }
  void be_told() const {
    EXPECT_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, session_.partner(), kTellTag, session_.comm(), MPI_STATUS_IGNORE));
  }
  void expect_arrived(const Memory &memory, int k) const {
    EXPECT_EQ(find_pattern_error(memory.read(), session_.partner(), k), "") << "message " << k;
  }

  const Session &session_ = Session::get();
  std::unique_ptr<ProgramStream> stream_;
  std::unique_ptr<TestQueue> queue_;
  std::vector<Memory> sent_;
};

}  // namespace

// Nobody tells the stream to wait; where it takes them itself all the same, the statistics say so.
TEST_F(ReceivesAside, NeedNoWaitOfTheStreams) {
  constexpr int kMessages = 8;
  const long long before = by_stream("MPIX_Enqueue_recv");
  for (int k = 0; k < kMessages; ++k) {
    const Memory in = make_memory(Kind::device, kBytes);
    receive(&queue(), in, kTag);
    send(&queue(), k, kTag);
    queue().start();
    queue().complete();
    expect_arrived(in, k);
    queue().wait();  // for the next one
  }
  if (std::getenv("TEST_RECEIVES_ASIDE") != nullptr) {  // NOLINT(concurrency-mt-unsafe): nobody sets it
    EXPECT_EQ(by_stream("MPIX_Enqueue_recv"), before + kMessages);
  }
}

// The partner's message only comes when it has got what this rank starts later.
TEST_F(ReceivesAside, HoldUpNoLaterStart) {
  for (int k = 0; k < 6; ++k) {
    const Memory in = make_memory(Kind::device, kBytes);
    receive(&queue(), in, begins() ? kTag : kLaterTag);
    queue().start();
    if (!begins()) queue().complete();
    bring(&queue(), k, begins() ? kLaterTag : kTag);
    expect_arrived(in, k);
    if (k % 2 == 0) queue().wait();
  }
}

// Of one batch, and of a second one behind it: requests are complete when their own messages are there.
TEST_F(ReceivesAside, HoldUpNoOtherRequest) {
  for (int k = 0; k < 4; k += 2) {
    if (begins()) {
      const Memory first = make_memory(Kind::device, kBytes);
      const Memory later = make_memory(Kind::device, kBytes);
      std::array<MPI_Request, 2> requests{};
      EXPECT_MPI(mpix().recv(first.data(), kBytes, MPI_BYTE, session_.partner(), kTag, queue().get(), &requests[0]));
      if (k != 0) queue().start();
      EXPECT_MPI(
          mpix().recv(later.data(), kBytes, MPI_BYTE, session_.partner(), kLaterTag, queue().get(), &requests[1]));
      queue().start();
      EXPECT_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      expect_arrived(later, k);
      tell();
      EXPECT_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      expect_arrived(first, k + 1);
      queue().wait();
    } else {
      bring(&queue(), k, kLaterTag);
      be_told();
      bring(&queue(), k + 1, kTag);
    }
  }
}

// A wait is for the queue's own messages, not for what another queue of the same stream receives.
TEST_F(ReceivesAside, HoldUpNoOtherQueue) {
  TestQueue other(stream());
  for (int k = 0; k < 6; k += 2) {
    if (begins()) {
      const Memory first = make_memory(Kind::device, kBytes);
      const Memory later = make_memory(Kind::device, kBytes);
      receive(&queue(), first, kTag);
      queue().start();
      receive(&other, later, kLaterTag);
      other.start();
      other.wait();
      stream().synchronize();
      other.complete();
      expect_arrived(later, k);
      tell();
      queue().wait();
      stream().synchronize();
      queue().complete();
      expect_arrived(first, k + 1);
    } else {
      bring(&other, k, kLaterTag);
      be_told();
      bring(&queue(), k + 1, kTag);
    }
  }
}

// What the stream does behind its wait finds the message, however late that is sent.
TEST_F(ReceivesAside, AreWaitedFor) {
  constexpr int kWordsBetween = 200;  // in which a stream that did not wait would come to its copy
  for (int k = 0; k < 4; ++k) {
    if (begins()) {
      const Memory in = make_memory(Kind::device, kBytes);
      const Memory seen = make_memory(Kind::pinned, kBytes);
      receive(&queue(), in, kTag);
      queue().start();
      queue().wait();
      stream().copy(seen.data(), in.data(), kBytes);
      for (int word = 0; word < kWordsBetween; ++word) {
        tell();
        be_told();
      }
      stream().synchronize();
      queue().complete();
      expect_arrived(seen, k);
    } else {
      for (int word = 0; word < kWordsBetween; ++word) {
        be_told();
        tell();
      }
      bring(&queue(), k, kTag);
    }
  }
}

// More of them than go aside at once, into one buffer again and again, all enqueued ahead: what the stream does behind
// its wait finds all of a round and nothing of the next one.
TEST_F(ReceivesAside, AreAllThereBehindTheWait) {
  constexpr int kMessages = 11;
  constexpr int kRounds = 6;  // where each message is several commands, too, no more than may be ahead of the stream
  constexpr int kPart = kBytes / kMessages;
  for (int k = 0; k < kMessages; ++k) warm_up(stream(), &queue(), kTellTag + 1 + k, kPart);
  const Memory in = make_memory(Kind::device, kBytes);
  std::vector<Memory> seen;
  stream().close_gate();
  for (int round = 0; round < kRounds; ++round) {
    sent_.push_back(make_memory(Kind::device, kMessages * kPart));
    sent_.back().fill_pattern(session_.rank(), round);
    for (int k = 0; k < kMessages; ++k) {
      const auto place = static_cast<std::size_t>(k) * kPart;
      queue().recv(in.at(place), kPart, kTellTag + 1 + k, session_.partner());
      queue().send(sent_.back().at(place), kPart, kTellTag + 1 + k, session_.partner());
    }
    queue().start();
    queue().wait();
    seen.push_back(make_memory(Kind::pinned, kMessages * kPart));
    stream().copy(seen.back().data(), in.data(), kMessages * kPart);
  }
  stream().open_gates();
  stream().synchronize();
  queue().complete();
  for (int round = 0; round < kRounds; ++round) expect_arrived(seen[static_cast<std::size_t>(round)], round);
}

}  // namespace sluice::tests::receives_aside_test
