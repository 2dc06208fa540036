// SPDX-License-Identifier: BSD-3-Clause
// What the host pays for messages of queues (sluice/stream_message.h), counted on the loop-back driver: a launch is
// most of it, so a batch for many neighbours is one, whatever it says; and what was asked once is not asked again.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "loopback.h"
#include "messages_module.h"
#include "sluice/backend.h"
#include "sluice/stream_message.h"

namespace {

constexpr size_t kNeighbours = 26;  // of a cube among cubes
constexpr size_t kShort = 3001;
constexpr size_t kLong = 65537;  // one block does not copy as much by itself

class Messages : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const sluice_host_services_t services = {
        sizeof services,
        [](int, const char *text) {
          if (std::strstr(text, "CUDA_DEVICE_MAX_CONNECTIONS=32") != nullptr) ++n_warnings;
        },
        [](const char *) -> const char * { return nullptr; }};
    load_messages_module(services, &table, &messages);
  }

  void SetUp() override {
    if (messages == nullptr) GTEST_SKIP() << "missing: kernels (tools/setup installs their compiler)";
    ASSERT_NO_FATAL_FAILURE(make_words(*table, &words_));
    void *memory = nullptr;
    for (unsigned char **made : {&from_, &slots_, &to_}) {
      ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kNeighbours * kLong, &memory), SLUICE_SUCCESS);
      *made = static_cast<unsigned char *>(memory);
      std::memset(memory, 0xEE, kNeighbours * kLong);
    }
    for (size_t i = 0; i < kNeighbours * kLong; ++i) from_[i] = static_cast<unsigned char>(i * 7 + i / 251);
    int32_t device = -1;
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(table->program_stream_create(&native_[i]), SLUICE_SUCCESS) << table->last_error();
      ASSERT_EQ(table->stream_open(native_[i], &streams_[i], &device), SLUICE_SUCCESS) << table->last_error();
      ASSERT_EQ(messages->can_carry(streams_[i]), 1);
    }
  }
  void TearDown() override {
    for (int i = 0; i < 2; ++i) {
      if (streams_[i] == nullptr) continue;
      EXPECT_EQ(table->stream_close(streams_[i]), SLUICE_SUCCESS);
      EXPECT_EQ(table->program_stream_destroy(native_[i]), SLUICE_SUCCESS);
    }
    for (unsigned char *made : {from_, slots_, to_}) {
      if (made == nullptr) continue;
      EXPECT_EQ(table->program_free(made), SLUICE_SUCCESS);
    }
    if (words_ == nullptr) return;
    EXPECT_EQ(table->host_free(0, words_), SLUICE_SUCCESS);
  }

  // What neighbour k is sent, and its words. With `size` bytes; as message `number`.
  sluice_stream_send_t send(size_t k, size_t size, uint64_t number = 1) const {
    return {slots_ + k * kLong, from_ + k * kLong, size, words_ + 2 * k, number << 32U | size};
  }
  sluice_stream_receive_t receive(size_t k, size_t most, uint64_t number = 1) const {
    return {
        to_ + k * kLong, {slots_ + k * kLong, kLong, kLong}, most, words_ + 2 * k, number << 32U, words_ + 2 * k + 1,
        number};
  }
  void expect_sent(const std::vector<sluice_stream_send_t> &sends, int n_kernels, uint32_t n_commands) const {
    const int before = loopback::state().n_kernels;
    const int n_graphs = loopback::state().n_graphs;
    sluice_stream_enqueued_t enqueued = {};
    ASSERT_EQ(messages->send(streams_[0], sends.data(), static_cast<uint32_t>(sends.size()), &enqueued), SLUICE_SUCCESS)
        << table->last_error();
    EXPECT_EQ(enqueued.n_messages, sends.size());
    EXPECT_EQ(enqueued.n_commands, n_commands);
    EXPECT_EQ(loopback::state().n_kernels, before + n_kernels);
    EXPECT_EQ(loopback::state().n_graphs, n_graphs + n_kernels);  // all of them as graphs, which were there already
  }
  void expect_received(const std::vector<sluice_stream_receive_t> &receives, int n_kernels) const {
    const int before = loopback::state().n_kernels;
    const int n_graphs = loopback::state().n_graphs;
    sluice_stream_enqueued_t enqueued = {};
    ASSERT_EQ(messages->receive(streams_[1], receives.data(), static_cast<uint32_t>(receives.size()), &enqueued),
              SLUICE_SUCCESS)
        << table->last_error();
    EXPECT_EQ(enqueued.n_messages, receives.size());
    EXPECT_EQ(loopback::state().n_kernels, before + n_kernels);
    EXPECT_EQ(loopback::state().n_graphs, n_graphs + n_kernels);  // all of them as graphs, which were there already
  }
  void synchronize() const {
    for (void *native : native_) EXPECT_EQ(table->program_stream_synchronize(native), SLUICE_SUCCESS);
  }
  void expect_bytes(size_t k, size_t size) const {
    EXPECT_EQ(std::memcmp(to_ + k * kLong, from_ + k * kLong, size), 0) << "neighbour " << k;
    for (size_t i = size; i < kLong; ++i) ASSERT_EQ(to_[k * kLong + i], 0xEE) << "neighbour " << k << ", byte " << i;
  }

  static const sluice_backend_t *table;
  static const sluice_stream_message_t *messages;
  static std::atomic<int> n_warnings;  // of few connections
  uint64_t *words_ = nullptr;
  unsigned char *from_ = nullptr;
  unsigned char *slots_ = nullptr;
  unsigned char *to_ = nullptr;
  void *native_[2] = {};              // NOLINT(modernize-avoid-c-arrays): indexed by the loops above
  sluice_stream_t *streams_[2] = {};  // NOLINT(modernize-avoid-c-arrays): the same
};

const sluice_backend_t *Messages::table = nullptr;
const sluice_stream_message_t *Messages::messages = nullptr;
std::atomic<int> Messages::n_warnings{0};

}  // namespace

TEST_F(Messages, ABatchForAllNeighbours_IsOneLaunchOnEachSide) {
  std::vector<sluice_stream_receive_t> receives;
  std::vector<sluice_stream_send_t> sends;
  for (size_t k = 0; k < kNeighbours; ++k) {
    receives.push_back(receive(k, kShort));
    sends.push_back(send(k, kShort - k));
  }
  uint64_t *trigger = words_ + 2 * kNeighbours;
  sends.push_back({nullptr, nullptr, 0, trigger, 9});
  expect_received(receives, 1);
  expect_sent(sends, 1, 1);
  synchronize();
  EXPECT_EQ(*trigger, 9U);
  for (size_t k = 0; k < kNeighbours; ++k) {
    EXPECT_EQ(words_[2 * k + 1], 1U);
    expect_bytes(k, kShort - k);
  }
}

// Long ones go along; a second message of a channel waits for the first.
TEST_F(Messages, OnlyWhatMustGoesByItself) {
  expect_received({receive(0, kShort), receive(1, kShort), receive(0, kShort, 2), receive(2, kShort)}, 2);
  expect_sent({send(0, kShort), send(1, 100), send(3, kLong), send(2, 8), send(4, 8)}, 1, 1);
  expect_received({receive(3, kLong), receive(4, kShort)}, 1);
  while (__atomic_load_n(words_ + 1, __ATOMIC_ACQUIRE) != 1) std::this_thread::yield();
  expect_sent({send(0, 50, 2)}, 1, 1);
  synchronize();
  EXPECT_EQ(words_[1], 2U);
  expect_bytes(0, kShort);
  expect_bytes(1, 100);
  expect_bytes(2, 8);
  expect_bytes(3, kLong);
  expect_bytes(4, 8);
}

// Several blocks share a long message, and the last one that is done sets its word: by itself, and side by side with
// others, more of them than blocks may wait. From another unit each time, and each time anew: what the blocks count is
// 0 again.
TEST_F(Messages, LongOnes_AreOneLaunchOnEachSide) {
  constexpr size_t kMessages = 5;
  constexpr size_t kMost = size_t{400} << 10U;
  constexpr size_t kUnit = size_t{8} << 10U;
  constexpr size_t kUnits = 256;
  const auto size_of = [](size_t k, uint64_t number) { return kMost - 7001 * k - number * (k == 1 ? 60000 : 1); };
  void *memory[3] = {};  // NOLINT(modernize-avoid-c-arrays): indexed by the loops below
  for (void *&made : memory) {
    ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kMessages * kUnit * kUnits, &made), SLUICE_SUCCESS);
  }
  const auto at = [](void *base, size_t k) { return static_cast<unsigned char *>(base) + k * kUnit * kUnits; };
  for (uint64_t number = 1; number <= 6; ++number) {
    const size_t n = number % 3 == 0 ? 1 : kMessages;
    std::vector<sluice_stream_receive_t> receives;
    std::vector<sluice_stream_send_t> sends;
    for (size_t k = 0; k < n; ++k) {
      const size_t size = size_of(k, number);
      const uint64_t unit = 31 * number - k;  // the last message ends before the last unit does
      for (size_t i = 0; i < kMost; ++i) at(memory[0], k)[i] = static_cast<unsigned char>(i * 5 + i / 253 + number);
      std::memset(at(memory[1], k), 0, kUnit * kUnits);
      std::memset(at(memory[2], k), 0xEE, kMost);
      uint64_t *words = words_ + 2 * k;
      words[0] = 0;
      sends.push_back({at(memory[1], k) + unit * kUnit, at(memory[0], k), size, words,
                       number << 32U | unit << SLUICE_LENGTH_BITS | size});
      receives.push_back({at(memory[2], k),
                          {at(memory[1], k), kUnit * kUnits, kUnit},
                          kMost,
                          words,
                          number << 32U,
                          words + 1,
                          number});
    }
    expect_received(receives, 1);
    expect_sent(sends, 1, 1);
    synchronize();
    for (size_t k = 0; k < n; ++k) {
      EXPECT_EQ(words_[2 * k + 1], number);
      const size_t size = size_of(k, number);
      ASSERT_EQ(std::memcmp(at(memory[2], k), at(memory[0], k), size), 0) << "message " << number << " of " << k;
      for (size_t i = size; i < kMost; ++i) ASSERT_EQ(at(memory[2], k)[i], 0xEE) << "byte " << i << " of " << k;
    }
  }
  for (void *made : memory) EXPECT_EQ(table->program_free(made), SLUICE_SUCCESS);
}

// What the driver refused in the middle: the first ones are in the stream, and nothing of the others.
TEST_F(Messages, WhatIsRefused_IsNotEnqueued) {
  constexpr uint32_t kMessages = 90;
  constexpr uint32_t kOfALaunch = 32;
  std::vector<sluice_stream_send_t> sends;
  for (uint32_t k = 0; k < kMessages; ++k) sends.push_back({slots_ + k, from_ + k, 1, words_ + k, k + 1});
  loopback::state().n_launches = 2;
  sluice_stream_enqueued_t enqueued = {};
  EXPECT_NE(messages->send(streams_[0], sends.data(), kMessages, &enqueued), SLUICE_SUCCESS);
  loopback::state().n_launches = -1;
  EXPECT_EQ(enqueued.n_messages, 2 * kOfALaunch);
  EXPECT_EQ(enqueued.n_commands, 2U);
  synchronize();
  for (uint32_t k = 0; k < kMessages; ++k) {
    EXPECT_EQ(words_[k], k < 2 * kOfALaunch ? k + 1 : 0U) << "message " << k;
    EXPECT_EQ(slots_[k], k < 2 * kOfALaunch ? from_[k] : 0xEE) << "message " << k;
  }
  loopback::state().captured = static_cast<CUstream>(native_[0]);
  EXPECT_EQ(messages->send(streams_[0], sends.data(), kMessages, &enqueued), SLUICE_ERROR_UNSUPPORTED);
  loopback::state().captured = nullptr;
  EXPECT_EQ(enqueued.n_messages, 0U);
}

// A stream's own words are asked for once, and again when words were given back meanwhile: these may have been they.
TEST_F(Messages, WordsAreAskedForOnce) {
  const auto write = [&] { return table->stream_write(streams_[0], words_, 1); };
  void *page = nullptr;
  ASSERT_EQ(table->host_alloc(0, 4096, 0, &page), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(write(), SLUICE_SUCCESS) << table->last_error();
  const int before = loopback::state().n_queries;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(write(), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(loopback::state().n_queries, before);
  ASSERT_EQ(table->host_free(0, page), SLUICE_SUCCESS) << table->last_error();
  const int freed = loopback::state().n_queries;
  ASSERT_EQ(write(), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(loopback::state().n_queries, freed + 1);
  synchronize();
  EXPECT_EQ(table->host_free(0, words_), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(write(), SLUICE_ERROR_INVALID_ARGUMENT);
  words_ = nullptr;
}

// Through the service streams share few connections, and one that waits may hold up the others: said once, and not
// where the program has asked for more.
TEST_F(Messages, FewConnectionsAreWarnedOf) {
  EXPECT_EQ(n_warnings, 0);  // of the streams that were opened before
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1), 0);
    sluice_stream_t *stream = nullptr;
    int32_t device = -1;
    ASSERT_EQ(table->stream_open(native_[0], &stream, &device), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->stream_close(stream), SLUICE_SUCCESS);
    EXPECT_EQ(n_warnings, 1);
  }
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1), 0);
}
