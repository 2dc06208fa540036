// SPDX-License-Identifier: BSD-3-Clause
// Messages of any length on one channel of the engine device (docs/adr/0033), whichever came first: where in the
// receiver's memory each lies is the sender's choice, and the memory is a ring.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/ranks/queue/channel_case.hpp"
#include "tests/support/given_setting.hpp"
#include "tests/support/matrix_rows.hpp"

namespace sluice::tests::channel_lengths_test {
namespace {

constexpr int kShort = 61;
constexpr int kLongest = 2 << 20;  // of a channel that has 8 MiB
constexpr int kUsualUnit = kLongest / 64;

// The longest message that streams carry: a quarter of what queue_channel_bytes says, a whole number of KiB.
int most_bytes() {
  const std::optional<std::string> said = given_setting("queue_channel_bytes");
  return !said ? kLongest : std::min(kLongest, std::atoi(said->c_str()) * 1024 / 4);  // NOLINT(cert-err34-c): 128K
}

// From 0 to `most`: the edges of units and of kernels' blocks, and whatever else.
std::vector<int> lengths(std::size_t n, int most) {
  std::vector<int> all = {0,     1,     kUsualUnit - 1, kUsualUnit, kUsualUnit + 1, 65536,
                          65537, 98305, 256 << 10U,     most - 1,   most,           most};
  std::mt19937 random(11);
  while (all.size() < n) {
    const int limit = random() % 2 == 0 ? most : std::min(most, 100000);
    all.push_back(static_cast<int>(random() % static_cast<unsigned>(limit + 1)));
  }
  for (int &length : all) length = std::min(length, most);
  std::ranges::shuffle(all, random);
  return all;
}

Memory device_memory(int bytes) {
  return make_memory(Kind::device, static_cast<std::size_t>(bytes) + 1);
}

// The message that was filled for `number`, of that length; no byte behind it is written.
void expect_message(const Memory &landed, int bytes, int number) {
  const Bytes all = landed.read();
  const auto end = all.begin() + bytes;
  ASSERT_EQ(find_pattern_error(Bytes(all.begin(), end), Session::get().partner(), number), "") << "message " << number;
  ASSERT_TRUE(std::all_of(end, all.end(), [](unsigned char byte) { return byte == kPoison; })) << "message " << number;
}

class ChannelLengths : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(count_statistics()); }
};

}  // namespace

// Each message is received when the next one lies beside it, so the two are never in the same place, and go round: by
// the streams all of them, though the first one was short.
TEST_F(ChannelLengths, AnyOrder_GoesRoundByTheStreams) {
  SKIP_WITHOUT_CHANNELS();
  constexpr std::size_t kMessages = 36;
  const Session &session = Session::get();
  const std::vector<int> sizes = lengths(kMessages, most_bytes());
  ProgramStream stream;
  TestQueue queue(stream);
  TestQueue sends_only(stream);  // whose messages the stream waits for nowhere, should threads carry them
  warm_up(stream, &queue, kTag, kShort);
  const Memory in = device_memory(kLongest);
  const std::array<Memory, 2> out = {device_memory(kLongest), device_memory(kLongest)};
  EXPECT_MPI(MPI_Barrier(session.comm()));
  const long long sends = by_stream("MPIX_Enqueue_send");
  const long long receives = by_stream("MPIX_Enqueue_recv");
  std::array<MPI_Request, 2> sent = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (std::size_t k = 0; k <= sizes.size(); ++k) {
    MPI_Request received = MPI_REQUEST_NULL;
    if (k < sizes.size()) {
      out[k % 2].fill_pattern(session.rank(), static_cast<int>(k));
      EXPECT_MPI(
          mpix().send(out[k % 2].data(), sizes[k], MPI_BYTE, session.partner(), kTag, sends_only.get(), &sent[k % 2]));
      sends_only.start();
    }
    if (k != 0) {
      in.fill(kPoison);
      EXPECT_MPI(mpix().recv(in.data(), kLongest, MPI_BYTE, session.partner(), kTag, queue.get(), &received));
      queue.start();
      queue.wait();
      EXPECT_MPI(MPI_Wait(&received, MPI_STATUS_IGNORE));
      EXPECT_MPI(MPI_Wait(&sent[(k - 1) % 2], MPI_STATUS_IGNORE));
      expect_message(in, sizes[k - 1], static_cast<int>(k) - 1);
    }
    EXPECT_MPI(MPI_Barrier(session.comm()));  // the partner has taken what this rank sent before
    if (HasFatalFailure()) return;
  }
  stream.synchronize();
  EXPECT_EQ(by_stream("MPIX_Enqueue_send"), sends + static_cast<long long>(sizes.size()));
  EXPECT_GT(by_stream("MPIX_Enqueue_recv"), receives);
}

// Rows of a matrix by a subarray type: one run of the device, wherever it begins.
TEST_F(ChannelLengths, OneRunInTheMidst_GoesByTheStreams) {
  SKIP_WITHOUT_CHANNELS();
  constexpr int kRow = 512;
  constexpr int kBefore = 3 * kRow;
  constexpr int kBytes = 2 * kRow;
  MPI_Datatype rows = rows_of_matrix(9, kRow, MPI_BYTE);
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kBytes);
  const Memory in = make_memory(Kind::device, std::size_t{9} * kRow);
  const Memory out = make_memory(Kind::device, std::size_t{9} * kRow);
  out.fill_pattern(session.rank(), 5);
  EXPECT_MPI(MPI_Barrier(session.comm()));
  const long long sends = by_stream("MPIX_Enqueue_send");
  const long long receives = by_stream("MPIX_Enqueue_recv");
  stream.close_gate();
  queue.recv(in.data(), 1, kTag, session.partner(), rows);
  queue.send(out.data(), 1, kTag, session.partner(), rows);
  queue.start();
  queue.wait();
  stream.open_gates();
  stream.synchronize();
  queue.complete();
  EXPECT_EQ(by_stream("MPIX_Enqueue_send"), sends + 1);
  EXPECT_EQ(by_stream("MPIX_Enqueue_recv"), receives + 1);
  const Bytes bytes = in.read();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool is_taken = i >= kBefore && i < kBefore + kBytes;
    ASSERT_EQ(bytes[i], is_taken ? pattern_byte(session.partner(), i, 5) : kPoison) << "byte " << i;
  }
  EXPECT_MPI(MPI_Type_free(&rows));
}

// The host runs ahead of its stream, which has room for a few of them only, and waits for it as long as it moves: the
// streams carry nearly all of them, where the machine is not so busy that they stand still for long.
TEST_F(ChannelLengths, LongOnes_AreRight_WhereTheHostIsFarAhead) {
  SKIP_WITHOUT_CHANNELS();
  constexpr int kMessages = 200;
  const int length = most_bytes();
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kShort);
  const Memory in = device_memory(length);
  const Memory out = device_memory(length);
  out.fill_pattern(session.rank(), 3);
  EXPECT_MPI(MPI_Barrier(session.comm()));
  for (int k = 0; k < kMessages; ++k) {
    queue.recv(in.data(), length, kTag, session.partner());
    queue.send(out.data(), length, kTag, session.partner());
    queue.start();
    queue.wait();
  }
  stream.synchronize();
  queue.complete();
  EXPECT_EQ(find_pattern_error(in.read(0, static_cast<std::size_t>(length)), session.partner(), 3), "");
}

// Nobody receives until there is no room any more, for some lengths sooner than for others: what finds none goes by the
// threads, and all come in their order.
TEST_F(ChannelLengths, AheadUntilThereIsNoRoom) {
  SKIP_WITHOUT_CHANNELS();
  constexpr std::size_t kMessages = 40;
  constexpr std::size_t kOfABatch = 5;
  const Session &session = Session::get();
  const std::vector<int> sizes = lengths(kMessages, kLongest);
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kShort);
  for (int round = 0; round < 2; ++round) {
    std::vector<Memory> in;
    std::vector<Memory> out;
    EXPECT_MPI(MPI_Barrier(session.comm()));
    const long long by_streams = by_stream("MPIX_Enqueue_send");
    const long long by_threads = calls_by("MPIX_Enqueue_send", "thread");
    const auto number_of = [&](std::size_t k) { return static_cast<int>(k) + 100 * round; };
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      out.push_back(device_memory(sizes[k]));
      out.back().fill_pattern(session.rank(), number_of(k));
      queue.send(out.back().data(), sizes[k], kTag, session.partner());
      if (k % kOfABatch == kOfABatch - 1) queue.start();
    }
    EXPECT_MPI(MPI_Barrier(session.comm()));
    for (const int bytes : sizes) {
      in.push_back(device_memory(bytes));
      queue.recv(in.back().data(), bytes, kTag, session.partner());
    }
    queue.start();
    queue.wait();
    stream.synchronize();
    queue.complete();
    for (std::size_t k = 0; k < sizes.size(); ++k) expect_message(in[k], sizes[k], number_of(k));
    if (HasFatalFailure()) return;
    const long long n_by_streams = by_stream("MPIX_Enqueue_send") - by_streams;
    const long long n_by_threads = calls_by("MPIX_Enqueue_send", "thread") - by_threads;
    EXPECT_GE(n_by_streams, 4);
    EXPECT_GE(n_by_threads, 4);
    EXPECT_EQ(n_by_streams + n_by_threads, static_cast<long long>(sizes.size()));
  }
}

// One byte more than a quarter of the memory goes by the thread, between those that do not.
TEST_F(ChannelLengths, LongerThanAQuarter_GoesByTheThread) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  const std::array<int, 4> sizes = {kShort, most_bytes() + 1, most_bytes(), kShort};
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kShort);
  EXPECT_MPI(MPI_Barrier(session.comm()));
  const long long by_streams = by_stream("MPIX_Enqueue_send");
  const long long by_threads = calls_by("MPIX_Enqueue_send", "thread");
  std::vector<Memory> in;
  std::vector<Memory> out;
  for (const int bytes : sizes) {
    in.push_back(device_memory(bytes));
    out.push_back(device_memory(bytes));
    out.back().fill_pattern(session.rank(), static_cast<int>(out.size()));
    queue.recv(in.back().data(), bytes, kTag, session.partner());
    queue.send(out.back().data(), bytes, kTag, session.partner());
  }
  queue.start();
  queue.wait();
  stream.synchronize();
  queue.complete();
  for (std::size_t k = 0; k < sizes.size(); ++k) expect_message(in[k], sizes[k], static_cast<int>(k) + 1);
  EXPECT_EQ(by_stream("MPIX_Enqueue_send"), by_streams + 3);
  EXPECT_EQ(calls_by("MPIX_Enqueue_send", "thread"), by_threads + 1);
}

// One that is too long for its buffer, behind another in the ring, whoever takes it out.
TEST_F(ChannelLengths, ATruncatedOne_BehindAnother) {
  SKIP_WITHOUT_CHANNELS();
  const Session &session = Session::get();
  const int bytes = most_bytes() - 3;
  const int fewer = bytes / 3;
  ProgramStream stream;
  TestQueue queue(stream);
  warm_up(stream, &queue, kTag, kShort);
  const std::array<Memory, 2> in = {device_memory(bytes), device_memory(bytes)};
  const std::array<Memory, 2> out = {device_memory(bytes), device_memory(bytes)};
  EXPECT_MPI(MPI_Barrier(session.comm()));
  const long long by_streams = by_stream("MPIX_Enqueue_send");
  for (const bool has_wait : {true, false}) {
    std::array<MPI_Request, 4> requests{};
    for (std::size_t k = 0; k < 2; ++k) {
      in[k].fill(kPoison);
      out[k].fill_pattern(session.rank(), static_cast<int>(k));
      EXPECT_MPI(mpix().send(out[k].data(), bytes, MPI_BYTE, session.partner(), kTag, queue.get(), &requests[k]));
    }
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_MPI(mpix().recv(in[k].data(), k == 0 ? bytes : fewer, MPI_BYTE, session.partner(), kTag, queue.get(),
                             &requests[2 + k]));
    }
    queue.start();
    if (has_wait) {
      queue.wait();
      stream.synchronize();
    }
    for (std::size_t k = 0; k < 3; ++k) EXPECT_MPI(MPI_Wait(&requests[k], MPI_STATUS_IGNORE));
    const int code = MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    EXPECT_EQ(class_of(code), MPI_ERR_TRUNCATE) << text_of(code);
    expect_message(in[0], bytes, 0);
    expect_message(in[1], fewer, 1);
    EXPECT_MPI(MPI_Barrier(session.comm()));
  }
  EXPECT_EQ(by_stream("MPIX_Enqueue_send"), by_streams + 4);
}

}  // namespace sluice::tests::channel_lengths_test
