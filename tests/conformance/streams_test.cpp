// SPDX-License-Identifier: BSD-3-Clause
// The group `stream`: triggers and waits in the order of a stream of the program's. Nothing here measures time: where
// something must not have happened yet, an earlier command of the same stream says that it could have.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <thread>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"
#include "stream_case.h"

using conformance::Stream;
using conformance::table;
using conformance::Words;

namespace conformance::streams_test {
namespace {

// What a stream must not have touched yet.
bool is_untouched(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    if (byte != conformance::kPoison) return false;
  }
  return true;
}

void fill_with_poison(const conformance::Memory &memory) {
  for (std::byte &byte : std::span(memory.data(), memory.size_bytes())) byte = conformance::kPoison;
}

}  // namespace

TEST(Streams, Open_TellsTheDevice) {
  SKIP_WITHOUT_STREAM_GROUPS();
  for (int32_t device = 0; device < table().device_count(); ++device) {
    const Stream stream(device);
    EXPECT_EQ(stream.device(), device);
    EXPECT_GE(table().stream_query(stream.native()), 0);
    stream.synchronize();
  }
  EXPECT_OK(table().program_set_device(0));
}

TEST(Streams, Null_IsRefused) {
  SKIP_WITHOUT_STREAM_GROUPS();
  EXPECT_EQ(table().stream_query(nullptr), -1);
  sluice_stream_t *stream = nullptr;
  int32_t device = 0;
  EXPECT_EQ(table().stream_open(nullptr, &stream, &device), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
}

TEST(Streams, AnythingElse_IsRefused_WhereTheRuntimeCanTell) {
  SKIP_WITHOUT_STREAM_GROUPS();
  uint64_t something[64] = {};
  if (table().stream_query(something) == 0) GTEST_SKIP() << "missing: a runtime that can tell a stream from an address";
  EXPECT_EQ(table().stream_query(something), -1);
  sluice_stream_t *stream = nullptr;
  int32_t device = 0;
  EXPECT_EQ(table().stream_open(something, &stream, &device), SLUICE_ERROR_INVALID_ARGUMENT);
}

TEST(Streams, Writes_AreSeenInOrder) {
  SKIP_WITHOUT_STREAM_GROUPS();
  const Words words(2);
  const Stream stream;
  constexpr uint64_t kWrites = 1000;
  for (uint64_t value = 1; value <= kWrites; ++value) {
    stream.write(words.at(0), value);
    stream.write(words.at(1), value);
  }
  // The second is never ahead of the first, looked at in that order.
  for (uint64_t second = 0; second < kWrites;) {
    second = words.get(1);
    ASSERT_LE(second, words.get(0));
  }
  stream.synchronize();
  EXPECT_EQ(words.get(0), kWrites);
}

// All copies before it are done, and their data is there.
TEST(Streams, Write_ComesAfterTheCopiesBeforeIt) {
  SKIP_WITHOUT_STREAM_GROUPS();
  constexpr size_t kBytes = 300001;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_PINNED, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(back, SLUICE_MEMORY_PINNED, 0, kBytes);
  const Words words(1);
  const Stream stream;
  for (uint64_t iteration = 1; iteration <= 20; ++iteration) {
    ASSERT_EQ(from.write(conformance::pattern(kBytes, iteration)), "");
    fill_with_poison(back);
    stream.copy(device.data(), from.data(), kBytes);
    stream.copy(back.data(), device.data(), kBytes);
    stream.write(words.at(0), iteration);
    words.await(0, iteration);
    ASSERT_EQ(conformance::pattern_mismatch(std::span(back.data(), kBytes), iteration), "");
  }
  stream.synchronize();
}

// What is behind a wait begins only when the host lets it, and finds what the host wrote before.
TEST(Streams, Wait_HoldsBackWhatIsBehindIt_UntilTheHostReleases) {
  SKIP_WITHOUT_STREAM_GROUPS();
  constexpr size_t kBytes = 20011;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_PINNED, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(back, SLUICE_MEMORY_PINNED, 0, kBytes);
  const Words words(2);
  const Stream stream;
  for (uint64_t iteration = 1; iteration <= 6; ++iteration) {
    ASSERT_EQ(from.write(conformance::pattern(kBytes, 1000 + iteration)), "");  // what a copy finds that does not wait
    fill_with_poison(back);
    stream.write(words.at(0), iteration);
    stream.wait(words.at(1), iteration);
    stream.copy(device.data(), from.data(), kBytes);
    stream.copy(back.data(), device.data(), kBytes);
    words.await(0, iteration);
    for (int look = 0; look < 20; ++look) {
      ASSERT_TRUE(is_untouched(std::span(back.data(), kBytes))) << "a copy did not wait, iteration " << iteration;
      std::this_thread::yield();
    }
    ASSERT_EQ(from.write(conformance::pattern(kBytes, iteration)), "");
    words.set(1, iteration);
    stream.synchronize();
    ASSERT_EQ(conformance::pattern_mismatch(std::span(back.data(), kBytes), iteration), "");
  }
}

TEST(Streams, Wait_PassesWhenTheWordIsThereOrBeyond) {
  SKIP_WITHOUT_STREAM_GROUPS();
  const Words words(2);
  const Stream stream;
  words.set(0, 7);
  for (const uint64_t least : {0, 6, 7}) stream.wait(words.at(0), least);
  stream.synchronize();
  stream.wait(words.at(0), 8);
  stream.write(words.at(1), 1);
  words.set(0, uint64_t{1} << 40U);
  stream.synchronize();
  EXPECT_EQ(words.get(1), 1U);
}

// Hundreds of waits pending at once, released a few at a time: the stream is never further than it may be. No more,
// because runtimes hold up the host when some thousand commands are pending in a stream (docs/adr/0032).
TEST(Streams, ManyWaits_ArePassedOneByOne) {
  SKIP_WITHOUT_STREAM_GROUPS();
  constexpr uint64_t kWaits = 200;
  const Words words(2);
  const Stream stream;
  for (uint64_t value = 1; value <= kWaits; ++value) {
    stream.wait(words.at(0), value);
    stream.write(words.at(1), value);
  }
  for (uint64_t released = 0; released < kWaits;) {
    ASSERT_EQ(words.get(1), released);
    released = std::min(released + 1 + released % 37, kWaits);
    words.set(0, released);
    words.await(1, released);
  }
  stream.synchronize();
}

// Two streams that wait for each other in turns, with data that goes back and forth.
TEST(Streams, TwoStreams_WaitForEachOther) {
  SKIP_WITHOUT_STREAM_GROUPS();
  constexpr size_t kBytes = 4096;
  constexpr uint64_t kTurns = 100;
  MAKE_MEMORY_OR_SKIP(one, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(other, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(host, SLUICE_MEMORY_PINNED, 0, kBytes);
  ASSERT_EQ(host.write(conformance::pattern(kBytes, 3)), "");
  const Words words(2);
  const Stream first;
  const Stream second;
  first.copy(one.data(), host.data(), kBytes);
  for (uint64_t turn = 1; turn <= kTurns; ++turn) {
    first.write(words.at(0), turn);
    second.wait(words.at(0), turn);
    second.copy(other.data(), one.data(), kBytes);
    second.write(words.at(1), turn);
    first.wait(words.at(1), turn);
    first.copy(one.data(), other.data(), kBytes);
  }
  first.synchronize();
  second.synchronize();
  std::vector<std::byte> after;
  ASSERT_EQ(one.read(&after), "");
  EXPECT_EQ(conformance::pattern_mismatch(after, 3), "");
}

// While one stream waits, Sluice's own queues and other streams go on.
TEST(Streams, AWaitingStream_HoldsUpNothingElse) {
  SKIP_WITHOUT_STREAM_GROUPS();
  constexpr size_t kBytes = 70001;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  const Words words(2);
  const Stream waiting;
  const Stream other;
  const conformance::Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  waiting.wait(words.at(0), 1);
  const std::vector<std::byte> bytes = conformance::pattern(kBytes, 5);
  std::vector<std::byte> back(kBytes);
  ASSERT_OK(table().copy(queue.get(), device.data(), bytes.data(), kBytes));
  ASSERT_OK(table().copy(queue.get(), back.data(), device.data(), kBytes));
  EXPECT_EQ(conformance::pattern_mismatch(back, 5), "");
  other.write(words.at(1), 1);
  other.synchronize();
  EXPECT_EQ(words.get(1), 1U);
  words.set(0, 1);
  waiting.synchronize();
}

TEST(Streams, ManyThreads_HaveAStreamEach) {
  SKIP_WITHOUT_STREAM_GROUPS();
  constexpr size_t kThreads = 4;
  constexpr uint64_t kRounds = 50;
  const Words words(2 * kThreads);
  std::vector<std::thread> threads;
  for (size_t k = 0; k < kThreads; ++k) {
    threads.emplace_back([&words, k] {
      const Stream stream;
      for (uint64_t round = 1; round <= kRounds; ++round) {
        stream.wait(words.at(2 * k), round);
        stream.write(words.at(2 * k + 1), round);
        ASSERT_EQ(words.get(2 * k + 1), round - 1);
        words.set(2 * k, round);
        words.await(2 * k + 1, round);
      }
      stream.synchronize();
    });
  }
  for (std::thread &thread : threads) thread.join();
}

// Refused before anything is enqueued: the stream is as good as before.
TEST(Streams, WrongWords_AreRefused) {
  SKIP_WITHOUT_STREAM_GROUPS();
  alignas(8) uint64_t elsewhere = 0;
  const Words words(2);
  const Stream stream;
  auto *crooked = reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(words.at(0)) + 4);
  for (uint64_t *wrong : {&elsewhere, crooked, static_cast<uint64_t *>(nullptr)}) {
    EXPECT_EQ(table().stream_write(stream.get(), wrong, 1), SLUICE_ERROR_INVALID_ARGUMENT);
    EXPECT_STRNE(table().last_error(), "");
    EXPECT_EQ(table().stream_wait(stream.get(), wrong, 1), SLUICE_ERROR_INVALID_ARGUMENT);
  }
  stream.write(words.at(1), 1);
  stream.synchronize();
  EXPECT_EQ(words.get(1), 1U);
  EXPECT_EQ(elsewhere, 0U);
}

// What is enqueued runs also after the close.
TEST(Streams, Close_LeavesWhatIsEnqueued) {
  SKIP_WITHOUT_STREAM_GROUPS();
  const Words words(2);
  void *native = nullptr;
  EXPECT_OK(table().program_set_device(0));
  ASSERT_OK(table().program_stream_create(&native));
  sluice_stream_t *stream = nullptr;
  int32_t device = -1;
  ASSERT_OK(table().stream_open(native, &stream, &device));
  ASSERT_OK(table().stream_wait(stream, words.at(0), 1));
  ASSERT_OK(table().stream_write(stream, words.at(1), 9));
  ASSERT_OK(table().stream_close(stream));
  EXPECT_EQ(words.get(1), 0U);
  words.set(0, 1);
  ASSERT_OK(table().program_stream_synchronize(native));
  EXPECT_EQ(words.get(1), 9U);
  ASSERT_OK(table().program_stream_destroy(native));
}

}  // namespace conformance::streams_test
