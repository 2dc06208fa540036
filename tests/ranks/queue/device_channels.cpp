// SPDX-License-Identifier: BSD-3-Clause
// What is particular to the engine device (docs/adr/0033): messages that two streams carry by themselves, and those of
// the same channel that the progress threads carry, in one order. The other tests of queues run with it, too, but for
// those in which the other side is a plain message.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/ranks/queue/channel_case.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::device_channels_test {
namespace {

constexpr int kBytes = 20011;

Memory make(Kind kind, std::size_t size_bytes = kBytes) {
  return make_memory(kind, size_bytes);
}

// Segments of channels that this process has mapped.
int n_shared_segments() {
  std::ifstream maps("/proc/self/maps");
  int n_found = 0;
  for (std::string line; std::getline(maps, line);) n_found += line.find("sluice") != std::string::npos ? 1 : 0;
  return n_found;
}

class DeviceChannels : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(count_statistics()); }
};

}  // namespace

// All messages of a chain are carried by the streams, seen by the statistics of both sides: none by a thread.
TEST_F(DeviceChannels, NoCpuIsOnTheWay) {
  SKIP_WITHOUT_CHANNELS();
  constexpr int kMessages = 20;
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kBytes);
  std::vector<Memory> in;
  std::vector<Memory> out;
  for (int k = 0; k < kMessages; ++k) {
    in.push_back(make(Kind::device));
    out.push_back(make(Kind::device));
    out.back().fill_pattern(session.rank(), k);
  }
  const long long sends = by_stream("MPIX_Enqueue_send");
  const long long receives = by_stream("MPIX_Enqueue_recv");
  stream.close_gate();
  for (int k = 0; k < kMessages; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const int bytes = kBytes - 911 * k;
    queue.recv(in[at].data(), kBytes, kTag, session.partner());
    queue.send(out[at].data(), bytes, kTag, session.partner());
    queue.start();
    queue.wait();
  }
  stream.open_gates();
  stream.synchronize();
  for (int k = 0; k < kMessages; ++k) {
    const auto bytes = static_cast<std::size_t>(kBytes - 911 * k);
    const Memory &landed = in[static_cast<std::size_t>(k)];
    EXPECT_EQ(find_pattern_error(landed.read(0, bytes), session.partner(), k), "") << "message " << k;
    const Bytes behind = landed.read(bytes, kBytes - bytes);
    EXPECT_TRUE(std::ranges::all_of(behind, [](unsigned char byte) { return byte == kPoison; })) << "message " << k;
  }
  queue.complete();
  EXPECT_EQ(by_stream("MPIX_Enqueue_send"), sends + kMessages);
  EXPECT_EQ(by_stream("MPIX_Enqueue_recv"), receives + kMessages);
}

namespace {

// An error handler that keeps whoever calls it, and with it the turn of the progress thread that it is called in.
std::atomic<bool> is_kept{false};
std::atomic<bool> is_let_go{false};
void keep(MPI_Comm * /*comm*/, int * /*code*/, ...) {  // NOLINT(cert-dcl50-cpp): MPI's form of a handler
  is_kept = true;
  while (!is_let_go) std::this_thread::yield();
}

}  // namespace

// The streams of both sides come to an end while neither progress thread does anything: nobody else is waited for.
TEST_F(DeviceChannels, NoTurnIsNeeded) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  ProgramStream stream;
  ProgramStream other;
  TestQueue queue(stream);
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  out.fill_pattern(session.rank(), 8);
  warm_up(stream, &queue, kTag, kBytes);
  MPI_Comm self = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPIX_Queue broken = MPIX_QUEUE_NULL;
  EXPECT_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self));
  EXPECT_MPI(MPI_Comm_create_errhandler(&keep, &handler));
  EXPECT_MPI(MPI_Comm_set_errhandler(self, handler));
  EXPECT_MPI(mpix().create(self, other.native(), &broken));
  is_kept = is_let_go = false;

  stream.close_gate();
  queue.recv(in.data(), kBytes, kTag, session.partner());
  queue.send(out.data(), kBytes, kTag, session.partner());
  queue.start();
  queue.wait();
  // A message to this rank that is longer than its receive: the turn that sees it calls the handler.
  std::array<char, 64> long_one{};
  std::array<char, 8> short_one{};
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  EXPECT_MPI(mpix().recv(short_one.data(), 8, MPI_BYTE, 0, kTag, broken, &requests[0]));
  EXPECT_MPI(mpix().send(long_one.data(), 64, MPI_BYTE, 0, kTag, broken, &requests[1]));
  EXPECT_MPI(mpix().start(broken));
  while (!is_kept) std::this_thread::yield();
  stream.open_gates();
  stream.synchronize();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 8), "");
  is_let_go = true;

  queue.complete();
  EXPECT_EQ(class_of(MPI_Wait(requests.data(), MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
  EXPECT_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  EXPECT_MPI(mpix().free(broken));
  EXPECT_MPI(MPI_Errhandler_free(&handler));
  EXPECT_MPI(MPI_Comm_free(&self));
}

// Long ones and short ones, of the device and of the host, whole and with gaps, in one batch with one tag: those that
// streams carry and those that threads carry come in their order.
TEST_F(DeviceChannels, BothWays_KeepOneOrder) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  constexpr std::array<int, 6> kSizes = {0, 1, 255, 20000, 70001, 1000017};
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_vector(300, 3, 8, MPI_BYTE, &gaps));
  EXPECT_MPI(MPI_Type_commit(&gaps));
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kBytes);
  for (int round = 0; round < 3; ++round) {
    std::vector<Memory> in;
    std::vector<Memory> out;
    for (const Kind receiving : {Kind::device, Kind::host}) {
      for (const Kind sending : {Kind::device, Kind::host}) {
        for (const int bytes : kSizes) {
          in.push_back(make(receiving, static_cast<std::size_t>(bytes) + 1));
          out.push_back(make(sending, static_cast<std::size_t>(bytes) + 1));
          out.back().fill_pattern(session.rank(), bytes + round);
          queue.recv(in.back().data(), bytes, kTag, session.partner());
          queue.send(out.back().data(), bytes, kTag, session.partner());
        }
      }
    }
    const Memory gaps_in = make(Kind::device, 2400);
    const Memory whole_out = make(Kind::device, 900);
    whole_out.fill_pattern(session.rank(), 6);
    queue.recv(gaps_in.data(), 1, kTag, session.partner(), gaps);
    queue.send(whole_out.data(), 900, kTag, session.partner());
    queue.start();
    if (round != 1) queue.wait();
    if (round != 1) stream.synchronize();
    queue.complete();
    for (std::size_t k = 0; k < in.size(); ++k) {
      const auto bytes = static_cast<std::size_t>(kSizes[k % kSizes.size()]);
      EXPECT_EQ(find_pattern_error(in[k].read(0, bytes), session.partner(), static_cast<int>(bytes) + round), "") << k;
      EXPECT_EQ(in[k].read(bytes, 1)[0], kPoison) << k;
    }
    const Bytes bytes = gaps_in.read();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(bytes[i], i % 8 < 3 ? pattern_byte(session.partner(), i / 8 * 3 + i % 8, 6) : kPoison) << "byte " << i;
    }
  }
  EXPECT_MPI(MPI_Type_free(&gaps));
}

// Messages of one channel in turns by two queues of one stream, of which the first waits for its own before the second
// does: the stream comes to what lies between too late to take it.
TEST_F(DeviceChannels, TwoQueuesOfAStream_ShareOne) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue first(stream);
  TestQueue second(stream);
  warm_up(stream, &first, kTag, kBytes);
  for (int round = 0; round < 3; ++round) {
    std::vector<Memory> in;
    std::vector<Memory> out;
    int k = 0;
    for (TestQueue *queue : {&first, &second, &first}) {
      in.push_back(make(Kind::device, kBytes));
      out.push_back(make(Kind::device, kBytes));
      out.back().fill_pattern(session.rank(), 3 * round + k++);
      queue->recv(in.back().data(), kBytes, kTag, session.partner());
      queue->send(out.back().data(), kBytes, kTag, session.partner());
      queue->start();
    }
    first.wait();
    second.wait();
    stream.synchronize();
    first.complete();
    second.complete();
    for (k = 0; k < 3; ++k) {
      EXPECT_EQ(find_pattern_error(in[static_cast<std::size_t>(k)].read(), session.partner(), 3 * round + k), "") << k;
    }
  }
}

// One batch for as many channels as a cube has neighbours, with a second message on some: from the first one, in which
// nobody knows of the other, until the streams carry all of them.
TEST_F(DeviceChannels, ManyInOneBatch) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  constexpr int kMessages = 35;
  constexpr int kChannels = 26;
  ProgramStream stream;
  TestQueue queue(stream);
  const Memory in = make(Kind::device, static_cast<std::size_t>(kMessages) * kBytes);
  const Memory out = make(Kind::device, static_cast<std::size_t>(kMessages) * kBytes);
  const auto at = [](const Memory &memory, int k) { return static_cast<std::byte *>(memory.data()) + k * kBytes; };
  bool is_cold = true;
  long long n_sent = 0;  // by the streams, in the last round
  long long n_received = 0;
  for (int round = 0; is_cold && round < kMostWarmUps; ++round) {
    const long long sends = by_stream("MPIX_Enqueue_send");
    const long long receives = by_stream("MPIX_Enqueue_recv");
    in.fill(kPoison);
    out.fill_pattern(session.rank(), round);
    for (int k = 0; k < kMessages; ++k) {
      const int bytes = kBytes - 571 * k;
      queue.recv(at(in, k), kBytes, kTag + k % kChannels, session.partner());
      queue.send(at(out, k), bytes, kTag + k % kChannels, session.partner());
    }
    queue.start();
    queue.wait();
    stream.synchronize();
    queue.complete();
    const Bytes landed = in.read();
    for (int k = 0; k < kMessages; ++k) {
      for (int i = 0; i < kBytes; ++i) {
        const std::size_t index = static_cast<std::size_t>(k) * kBytes + static_cast<std::size_t>(i);
        ASSERT_EQ(landed[index], i < kBytes - 571 * k ? pattern_byte(session.partner(), index, round) : kPoison)
            << "round " << round << ", message " << k << ", byte " << i;
      }
    }
    n_sent = by_stream("MPIX_Enqueue_send") - sends;
    n_received = by_stream("MPIX_Enqueue_recv") - receives;
    is_cold = session.agree_any(n_sent != kMessages || n_received != kMessages);
  }
  EXPECT_FALSE(is_cold) << "the streams do not carry all of a batch: " << n_sent << " sends and " << n_received
                        << " receives of " << kMessages << " after " << kMostWarmUps << " rounds";
}

// Many more than there are slots, from both sides before either receives: neither stream waits for the other.
TEST_F(DeviceChannels, MoreMessagesThanSlots_DoNotLockUp) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  constexpr int kMessages = 300;
  constexpr int kShort = 61;
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag + 1, kShort);
  const Memory in = make(Kind::device, static_cast<std::size_t>(kMessages) * kShort);
  const Memory out = make(Kind::device, static_cast<std::size_t>(kMessages) * kShort);
  out.fill_pattern(session.rank(), 3);
  for (int k = 0; k < kMessages; ++k) {
    queue.send(static_cast<unsigned char *>(out.data()) + static_cast<std::ptrdiff_t>(k) * kShort, kShort, kTag + 1,
               session.partner());
    if (k % 100 == 99) queue.start();
  }
  for (int k = 0; k < kMessages; ++k) {
    queue.recv(static_cast<unsigned char *>(in.data()) + static_cast<std::ptrdiff_t>(k) * kShort, kShort, kTag + 1,
               session.partner());
  }
  queue.start();
  queue.wait();
  stream.synchronize();
  queue.complete();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 3), "");
}

// Out of a slot, too, a message that is too long is told by its request, and what is behind the buffer stays.
TEST_F(DeviceChannels, ATruncatedOne_IsTold) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kBytes);
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  out.fill_pattern(session.rank(), 5);
  const long long sends = by_stream("MPIX_Enqueue_send");
  for (const bool has_wait : {true, false}) {
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    EXPECT_MPI(mpix().recv(in.data(), 100, MPI_BYTE, session.partner(), kTag, queue.get(), &receive));
    EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, session.partner(), kTag, queue.get(), &send));
    queue.start();
    if (has_wait) {
      queue.wait();
      stream.synchronize();
    }
    MPI_Status status;
    const int code = MPI_Wait(&receive, &status);
    EXPECT_EQ(class_of(code), MPI_ERR_TRUNCATE) << text_of(code);
    EXPECT_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    const Bytes bytes = in.read(100, kBytes - 100);
    EXPECT_TRUE(std::ranges::all_of(bytes, [](unsigned char byte) { return byte == kPoison; }));
  }
  EXPECT_EQ(by_stream("MPIX_Enqueue_send"), sends + 2);
  exchange(stream, &queue, in, out, kTag, kBytes);
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 5), "");
}

// While one stream has messages on a channel, another is refused; afterwards it may have it.
TEST_F(DeviceChannels, ASecondStream_IsRefused) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  out.fill_pattern(session.rank(), 9);
  ProgramStream first;
  ProgramStream second;
  TestQueue queue(first);
  TestQueue other(second);
  warm_up(first, &queue, kTag, kBytes);
  queue.recv(in.data(), kBytes, kTag, session.partner());
  queue.start();
  other.recv(in.data(), kBytes, kTag, session.partner());
  const int code = mpix().start(other.get());
  EXPECT_EQ(class_of(code), MPI_ERR_OTHER);
  EXPECT_NE(text_of(code).find("another stream"), std::string::npos) << text_of(code);
  EXPECT_MPI(MPI_Barrier(session.comm()));  // with its message the partner would complete what was started above
  queue.send(out.data(), kBytes, kTag, session.partner());
  queue.start();
  queue.wait();
  first.synchronize();
  queue.complete();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 9), "");
  in.fill(kPoison);
  other.send(out.data(), kBytes, kTag, session.partner());
  other.start();
  other.wait();
  second.synchronize();
  other.complete();
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 9), "");
}

// Communicators that come and go take their channels along.
TEST_F(DeviceChannels, GoWithTheirCommunicators) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  const Memory in = make(Kind::device);
  const Memory out = make(Kind::device);
  out.fill_pattern(session.rank(), 4);
  ProgramStream stream;
  const int before = n_shared_segments();
  constexpr int kCommunicators = 30;
  for (int k = 0; k < kCommunicators; ++k) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    EXPECT_MPI(MPI_Comm_dup(session.comm(), &comm));
    EXPECT_MPI(mpix().create(comm, stream.native(), &queue));
    for (int message = 0; message < 4; ++message) {
      std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      in.fill(kPoison);
      EXPECT_MPI(mpix().recv(in.data(), kBytes, MPI_BYTE, session.partner(), kTag, queue, &requests[0]));
      EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, session.partner(), kTag, queue, &requests[1]));
      EXPECT_MPI(mpix().start(queue));
      EXPECT_MPI(mpix().wait(queue));
      stream.synchronize();
      EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 4), "") << "communicator " << k;
      EXPECT_MPI(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    }
    EXPECT_MPI(mpix().free(queue));
    EXPECT_MPI(MPI_Comm_free(&comm));
  }
  // Two for each channel that is left: those of the last few, whose other side was not heard of yet.
  EXPECT_LT(n_shared_segments(), before + kCommunicators);
}

}  // namespace sluice::tests::device_channels_test
