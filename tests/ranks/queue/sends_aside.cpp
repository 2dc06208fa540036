// SPDX-License-Identifier: BSD-3-Clause
// What holds wherever a stream's sends go, in it or aside of it (docs/adr/0052): what comes behind MPIX_Enqueue_wait
// may change what was sent, what stands between the start and the wait disturbs nobody, and starts, waits and requests
// come in any order that MPI allows. SLUICE_QUEUE_ASIDE says where they go; with `auto` now here, now there.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/ranks/queue/channel_case.hpp"

namespace sluice::tests::sends_aside_test {
namespace {

constexpr std::size_t kLong = 150001;  // many blocks share it
constexpr int kOtherTag = kTag + 1;

std::size_t size_of(int k) {
  return k % 3 == 0 ? kLong - 7 * static_cast<std::size_t>(k) : 20011 - 911 * static_cast<std::size_t>(k % 20);
}

// Memory of one direction of an exchange, and the device memory that a program works on meanwhile.
class SendsAside : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_CHANNELS();
    ASSERT_TRUE(count_statistics());
    waste_.fill(0xC3);
  }

  // What the stream is to send as message k, made by the stream itself.
  void write(const ProgramStream &stream, const Memory &out, int k) {
    sources_.push_back(make_memory(Kind::pinned, kLong));
    sources_.back().fill_pattern(Session::get().rank(), k);
    stream.copy(out.data(), sources_.back().data(), kLong);
  }
  // Other work of the stream; and what a program does with a buffer when it has it back.
  void work(const ProgramStream &stream) const { stream.copy(other_.data(), waste_.data(), kLong); }
  void overwrite(const ProgramStream &stream, const Memory &out) const {
    stream.copy(out.data(), waste_.data(), kLong);
  }
  Memory &receive(TestQueue *queue, int tag) {
    landed_.push_back(make_memory(Kind::device, kLong));
    queue->recv(landed_.back().data(), static_cast<int>(kLong), tag, Session::get().partner());
    return landed_.back();
  }
  static void send(TestQueue *queue, const Memory &out, int k, int tag) {
    queue->send(out.data(), static_cast<int>(size_of(k)), tag, Session::get().partner());
  }
  // Message k both ways as a batch, and other work of the stream behind its start.
  void start_exchange(const ProgramStream &stream, TestQueue *queue, const Memory &out, int k) {
    write(stream, out, k);
    receive(queue, kTag);
    send(queue, out, k, kTag);
    queue->start();
    work(stream);
  }
  // What was received as k, byte for byte, and nothing behind it.
  static void expect_arrived(const Memory &memory, int k) {
    EXPECT_EQ(find_pattern_error(memory.read(0, size_of(k)), Session::get().partner(), k), "") << "message " << k;
    const Bytes behind = memory.read(size_of(k), kLong - size_of(k));
    EXPECT_TRUE(std::ranges::all_of(behind, [](unsigned char byte) { return byte == kPoison; })) << "message " << k;
  }
  void expect_all(int n_messages) const {
    ASSERT_EQ(landed_.size(), static_cast<std::size_t>(n_messages));
    for (int k = 0; k < n_messages; ++k) expect_arrived(landed_[static_cast<std::size_t>(k)], k);
  }

  Memory waste_ = make_memory(Kind::pinned, kLong);
  Memory other_ = make_memory(Kind::device, kLong);
  std::vector<Memory> sources_;
  std::vector<Memory> landed_;
};

}  // namespace

// One buffer for all: each message is what was there when the stream came to its start. All of them enqueued ahead.
TEST_F(SendsAside, ABufferIsTheStreamsAgain_BehindTheWait) {
  constexpr int kMessages = 20;
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kLong);
  const Memory out = make_memory(Kind::device, kLong);
  const long long sends = by_stream("MPIX_Enqueue_send");
  stream.close_gate();
  for (int k = 0; k < kMessages; ++k) {
    start_exchange(stream, &queue, out, k);
    queue.wait();
    overwrite(stream, out);
  }
  stream.open_gates();
  stream.synchronize();
  queue.complete();
  expect_all(kMessages);
  EXPECT_EQ(by_stream("MPIX_Enqueue_send"), sends + kMessages);
}

// The same where nothing but the join keeps the stream from the buffer: no receive of its own, and no other work.
TEST_F(SendsAside, ABufferIsTheStreamsAgain_WhereItOnlySends) {
  constexpr int kMessages = 24;
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kLong);
  const Memory out = make_memory(Kind::device, kLong);
  stream.close_gate();
  for (int k = 0; k < kMessages; ++k) {
    if (Session::get().begins()) {
      write(stream, out, k);
      send(&queue, out, k, kTag);
    } else {
      receive(&queue, kTag);
    }
    queue.start();
    queue.wait();
    if (Session::get().begins()) overwrite(stream, out);
  }
  stream.open_gates();
  stream.synchronize();
  queue.complete();
  expect_all(Session::get().begins() ? 0 : kMessages);
}

// Batches with sends, without, and with both, one wait for all of them; and the next ones have the other order.
TEST_F(SendsAside, SeveralStarts_HaveOneWait) {
  constexpr int kRounds = 8;
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kLong);
  warm_up(stream, &queue, kOtherTag, kLong);
  const Memory first = make_memory(Kind::device, kLong);
  const Memory second = make_memory(Kind::device, kLong);
  stream.close_gate();
  for (int k = 0; k < 2 * kRounds; k += 2) {
    write(stream, first, k);
    send(&queue, first, k, kTag);
    queue.start();
    if (k % 4 == 0) work(stream);
    receive(&queue, kTag);
    queue.start();
    write(stream, second, k + 1);
    receive(&queue, kOtherTag);
    send(&queue, second, k + 1, kOtherTag);
    queue.start();
    work(stream);
    queue.wait();
    overwrite(stream, first);
    overwrite(stream, second);
  }
  stream.open_gates();
  stream.synchronize();
  queue.complete();
  expect_all(2 * kRounds);
}

// Nothing of the stream waits for the sends: their requests tell when the buffer is free, and the queue goes as it is.
TEST_F(SendsAside, RequestsTellTheEnd_WithoutAWait) {
  constexpr int kMessages = 6;
  ProgramStream stream;
  const Memory out = make_memory(Kind::device, kLong);
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kLong);
  for (int k = 0; k < kMessages; ++k) {
    start_exchange(stream, &queue, out, k);
    queue.complete();
    overwrite(stream, out);
  }
  // A batch whose stream brings nothing by itself, behind those that nobody waited for.
  int counted = 0;
  queue.recv(&counted, 0, kOtherTag, MPI_PROC_NULL);
  queue.start();
  queue.complete();
  expect_all(kMessages);
}

// Two queues of one stream have one channel in turns: its messages keep their places.
TEST_F(SendsAside, QueuesOfOneStream_ShareAChannel) {
  constexpr int kMessages = 10;  // an even number
  ProgramStream stream;
  TestQueue first(stream);
  TestQueue second(stream);
  warm_up(stream, &first, kTag, kLong);
  std::vector<Memory> out;
  stream.close_gate();
  for (int k = 0; k < kMessages; ++k) {
    TestQueue &queue = k % 2 == 0 ? first : second;
    out.push_back(make_memory(Kind::device, kLong));
    start_exchange(stream, &queue, out.back(), k);
    // The stream's waits in the order of the numbers.
    if (k % 2 == 0) continue;
    first.wait();
    second.wait();
    for (const Memory &sent : out) overwrite(stream, sent);
  }
  stream.open_gates();
  stream.synchronize();
  first.complete();
  second.complete();
  expect_all(kMessages);
}

}  // namespace sluice::tests::sends_aside_test
