// SPDX-License-Identifier: BSD-3-Clause
// By what streams trigger and wait (SLUICE_HIP_STREAMS), and how many commands messages of queues are
// (sluice/stream_message.h): counted on the loop-back runtime.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "loopback.h"
#include "sluice/backend.h"
#include "sluice/stream_message.h"

namespace {

constexpr size_t kNeighbours = 26;  // of a cube among cubes
constexpr size_t kBytes = 3001;
constexpr size_t kSlot = 20003;
constexpr size_t kPageBytes = 4096;

const char *g_operations = "auto";
const char *knob(const char *name) {
  return std::strcmp(name, "SLUICE_HIP_STREAMS") == 0 ? g_operations : nullptr;
}
constexpr sluice_host_services_t kServices = {sizeof(sluice_host_services_t), [](int, const char *) {}, knob};

// HIP_LOOPBACK_REFUSES, for a scope; no other thread asks meanwhile.
class Refusal {
 public:
  explicit Refusal(const char *what) { setenv("HIP_LOOPBACK_REFUSES", what, 1); }  // NOLINT(concurrency-mt-unsafe)
  ~Refusal() { unsetenv("HIP_LOOPBACK_REFUSES"); }                                 // NOLINT(concurrency-mt-unsafe)
  Refusal(const Refusal &) = delete;
  Refusal &operator=(const Refusal &) = delete;
};

class Operations : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    void *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    table = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL))();
    messages = reinterpret_cast<sluice_stream_message_fn>(dlsym(library, SLUICE_STREAM_MESSAGE_SYMBOL))();
  }

  void SetUp() override {
    g_operations = "auto";
    ASSERT_EQ(table->init(&kServices), SLUICE_SUCCESS) << table->last_error();
    void *memory = nullptr;
    ASSERT_EQ(table->host_alloc(0, kPageBytes, 0, &memory), SLUICE_SUCCESS) << table->last_error();
    words_ = static_cast<uint64_t *>(memory);
    std::memset(words_, 0, kPageBytes);
    for (unsigned char **made : {&from_, &slots_, &to_}) {
      ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kNeighbours * kSlot, &memory), SLUICE_SUCCESS);
      *made = static_cast<unsigned char *>(memory);
      std::memset(memory, 0xEE, kNeighbours * kSlot);
    }
    for (size_t i = 0; i < kNeighbours * kSlot; ++i) from_[i] = static_cast<unsigned char>(i * 7 + i / 251);
    for (void *&native : native_) {
      ASSERT_EQ(table->program_stream_create(&native), SLUICE_SUCCESS) << table->last_error();
    }
  }
  void TearDown() override {
    for (sluice_stream_t *stream : streams_) {
      if (stream == nullptr) continue;
      EXPECT_EQ(table->stream_close(stream), SLUICE_SUCCESS);
    }
    for (void *native : native_) EXPECT_EQ(table->program_stream_destroy(native), SLUICE_SUCCESS);
    for (unsigned char *made : {from_, slots_, to_}) EXPECT_EQ(table->program_free(made), SLUICE_SUCCESS);
    EXPECT_EQ(table->host_free(0, words_), SLUICE_SUCCESS);
  }

  // Both streams, as the knob says.
  sluice_result_t open(const char *operations) {
    g_operations = operations;
    sluice_result_t result = table->init(&kServices);
    for (size_t i = 0; i < 2 && result == SLUICE_SUCCESS; ++i) {
      int32_t device = -1;
      result = table->stream_open(native_[i], &streams_[i], &device);
    }
    return result;
  }
  void synchronize() const {
    for (void *native : native_) EXPECT_EQ(table->program_stream_synchronize(native), SLUICE_SUCCESS);
  }
  // One stream waits for a word, and then sets another.
  void expect_waits_and_triggers(int n_kernels, int n_operations) const {
    const int kernels_before = loopback::state().n_kernels;
    const int operations_before = loopback::state().n_operations;
    words_[0] = words_[1] = 0;
    ASSERT_EQ(table->stream_wait(streams_[0], words_, 3), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(table->stream_write(streams_[0], words_ + 1, 9), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(loopback::state().n_kernels, kernels_before + n_kernels);
    EXPECT_EQ(loopback::state().n_operations, operations_before + n_operations);
    EXPECT_EQ(loopback::state().n_waits, 1);
    __atomic_store_n(words_, 2, __ATOMIC_RELEASE);
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::yield();
      ASSERT_EQ(__atomic_load_n(words_ + 1, __ATOMIC_ACQUIRE), 0U);  // 2 is not 3
    }
    __atomic_store_n(words_, 4, __ATOMIC_RELEASE);
    synchronize();
    EXPECT_EQ(words_[1], 9U);
    EXPECT_EQ(loopback::state().n_waits, 0);
  }

  // What neighbour k is sent, and its words; as message `number`.
  sluice_stream_send_t send(size_t k, size_t size, uint64_t number = 1) const {
    return {slots_ + k * kSlot, from_ + k * kSlot, size, words_ + 2 * k, number << 32U | size};
  }
  sluice_stream_receive_t receive(size_t k, uint64_t number = 1) const {
    return {
        to_ + k * kSlot, {slots_ + k * kSlot, kSlot, kSlot}, kSlot, words_ + 2 * k, number << 32U, words_ + 2 * k + 1,
        number};
  }
  void expect_sent(const std::vector<sluice_stream_send_t> &sends, uint32_t n_commands) const {
    sluice_stream_enqueued_t enqueued = {};
    ASSERT_EQ(messages->send(streams_[0], sends.data(), static_cast<uint32_t>(sends.size()), &enqueued), SLUICE_SUCCESS)
        << table->last_error();
    EXPECT_EQ(enqueued.n_messages, sends.size());
    EXPECT_EQ(enqueued.n_commands, n_commands);
  }
  void expect_received(const std::vector<sluice_stream_receive_t> &receives, uint32_t n_commands) const {
    const int before = loopback::state().n_kernels + loopback::state().n_operations;
    sluice_stream_enqueued_t enqueued = {};
    ASSERT_EQ(messages->receive(streams_[1], receives.data(), static_cast<uint32_t>(receives.size()), &enqueued),
              SLUICE_SUCCESS)
        << table->last_error();
    EXPECT_EQ(enqueued.n_messages, receives.size());
    EXPECT_EQ(enqueued.n_commands, n_commands);
    EXPECT_EQ(loopback::state().n_kernels + loopback::state().n_operations, before + static_cast<int>(n_commands));
  }
  void expect_bytes(size_t k, size_t size) const {
    EXPECT_EQ(std::memcmp(to_ + k * kSlot, from_ + k * kSlot, size), 0) << "neighbour " << k;
    for (size_t i = size; i < kSlot; ++i) ASSERT_EQ(to_[k * kSlot + i], 0xEE) << "neighbour " << k << ", byte " << i;
  }
  // A batch for all neighbours, with the trigger among them, and nothing but that.
  void expect_batch(uint32_t n_commands_of_waits) const {
    std::vector<sluice_stream_receive_t> receives;
    std::vector<sluice_stream_send_t> sends;
    for (size_t k = 0; k < kNeighbours; ++k) {
      receives.push_back(receive(k));
      sends.push_back(send(k, kBytes + 101 * k));
    }
    uint64_t *trigger = words_ + 2 * kNeighbours;
    sends.push_back({nullptr, nullptr, 0, trigger, 9});
    expect_received(receives, n_commands_of_waits + 2);
    EXPECT_EQ(loopback::state().n_waits, static_cast<int>(n_commands_of_waits));
    expect_sent(sends, 2);
    synchronize();
    EXPECT_EQ(*trigger, 9U);
    for (size_t k = 0; k < kNeighbours; ++k) {
      EXPECT_EQ(words_[2 * k + 1], 1U);
      expect_bytes(k, kBytes + 101 * k);
    }
  }

  static const sluice_backend_t *table;
  static const sluice_stream_message_t *messages;
  uint64_t *words_ = nullptr;
  unsigned char *from_ = nullptr;
  unsigned char *slots_ = nullptr;
  unsigned char *to_ = nullptr;
  void *native_[2] = {};              // NOLINT(modernize-avoid-c-arrays): indexed by the loops above
  sluice_stream_t *streams_[2] = {};  // NOLINT(modernize-avoid-c-arrays): the same
};

const sluice_backend_t *Operations::table = nullptr;
const sluice_stream_message_t *Operations::messages = nullptr;

using OperationsWithoutKernels = Operations;

}  // namespace

TEST_F(Operations, Memory_IsTheRuntimes) {
  ASSERT_EQ(open("memory"), SLUICE_SUCCESS) << table->last_error();
  expect_waits_and_triggers(0, 2);
}

// Also where there is no other way.
TEST_F(Operations, Kernels_AreOurs) {
  const Refusal refusal("operations");
  ASSERT_EQ(open("kernels"), SLUICE_SUCCESS) << table->last_error();
  expect_waits_and_triggers(2, 0);
}

TEST_F(Operations, Auto_IsWhatTheDeviceHas) {
  ASSERT_EQ(open("auto"), SLUICE_SUCCESS) << table->last_error();
  expect_waits_and_triggers(0, 2);
  for (sluice_stream_t *&stream : streams_) {
    EXPECT_EQ(table->stream_close(stream), SLUICE_SUCCESS);
    stream = nullptr;
  }
  const Refusal refusal("operations");
  ASSERT_EQ(open("auto"), SLUICE_SUCCESS) << table->last_error();
  expect_waits_and_triggers(2, 0);
}

TEST_F(Operations, Memory_IsRefused_WhereTheDeviceHasNone) {
  const Refusal refusal("operations");
  EXPECT_EQ(open("memory"), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(table->last_error()).find("SLUICE_HIP_STREAMS=kernels"), std::string::npos)
      << table->last_error();
  EXPECT_EQ(streams_[0], nullptr);
}

TEST_F(Operations, OtherWords_LeaveTheDefaultInForce) {
  EXPECT_EQ(open("Kernels"), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(table->last_error()).find("switched off"), std::string::npos) << table->last_error();
}

TEST_F(Operations, ABatchForAllNeighbours_IsAFewCommands_ByKernels) {
  const Refusal refusal("operations");
  ASSERT_EQ(open("kernels"), SLUICE_SUCCESS) << table->last_error();
  expect_batch(1);
}

TEST_F(Operations, ABatchForAllNeighbours_IsAFewCommands_AndAWaitForEach) {
  ASSERT_EQ(open("memory"), SLUICE_SUCCESS) << table->last_error();
  expect_batch(kNeighbours);
}

// Words alone are one command, and a second message of a channel waits for the first.
TEST_F(Operations, OnlyWhatMustGoesByItself) {
  ASSERT_EQ(open("kernels"), SLUICE_SUCCESS) << table->last_error();
  expect_received({receive(0), receive(1), receive(0, 2), receive(2)}, 6);
  expect_sent({send(0, kBytes), send(1, 100), send(2, 0)}, 2);
  while (__atomic_load_n(words_ + 1, __ATOMIC_ACQUIRE) != 1) std::this_thread::yield();
  expect_sent({send(0, 0, 2)}, 1);
  synchronize();
  EXPECT_EQ(words_[1], 2U);
  expect_bytes(0, kBytes);
  expect_bytes(1, 100);
  expect_bytes(2, 0);
}

// What the runtime refused in the middle: the first ones are in the stream, and no word of the others is set.
TEST_F(Operations, WhatIsRefused_IsNotEnqueued) {
  constexpr uint32_t kMessages = 90;
  constexpr uint32_t kOfALaunch = 32;
  ASSERT_EQ(open("kernels"), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(messages->can_carry(streams_[0]), 1);
  std::vector<sluice_stream_send_t> sends;
  sends.reserve(kMessages);
  for (uint32_t k = 0; k < kMessages; ++k) sends.push_back({slots_ + k, from_ + k, 1, words_ + k, k + 1});
  for (const int n_launches : {3, 2, 1, 0}) {
    std::memset(words_, 0, kPageBytes);
    loopback::state().n_launches = n_launches;
    sluice_stream_enqueued_t enqueued = {7, 7};
    EXPECT_NE(messages->send(streams_[0], sends.data(), kMessages, &enqueued), SLUICE_SUCCESS);
    loopback::state().n_launches = -1;
    const uint32_t n_enqueued = static_cast<uint32_t>(n_launches) / 2 * kOfALaunch;
    EXPECT_EQ(enqueued.n_messages, n_enqueued);
    EXPECT_EQ(enqueued.n_commands, static_cast<uint32_t>(n_launches));
    synchronize();
    for (uint32_t k = 0; k < kMessages; ++k) EXPECT_EQ(words_[k], k < n_enqueued ? k + 1 : 0U) << "message " << k;
  }
}

// As long as a message is awaited nothing is given back for which the runtime would wait.
TEST_F(Operations, AnAwaitedMessage_HoldsNobodyUp) {
  for (const char *operations : {"memory", "kernels"}) {
    ASSERT_EQ(open(operations), SLUICE_SUCCESS) << table->last_error();
    void *memory = nullptr;
    ASSERT_EQ(table->device_alloc(0, kBytes, &memory), SLUICE_SUCCESS) << table->last_error();
    std::memset(words_, 0, kPageBytes);
    expect_received({receive(0)}, 3);
    std::atomic<bool> has_returned = false;
    std::thread thread([&] {
      EXPECT_EQ(table->device_free(0, memory), SLUICE_SUCCESS) << table->last_error();
      has_returned = true;
    });
    while (loopback_held_up() == 0 && !has_returned) std::this_thread::yield();
    EXPECT_EQ(loopback_held_up(), 0);
    expect_sent({send(0, kBytes)}, 2);
    synchronize();
    thread.join();
    for (sluice_stream_t *&stream : streams_) {
      EXPECT_EQ(table->stream_close(stream), SLUICE_SUCCESS);
      stream = nullptr;
    }
  }
}

// Nothing is enqueued for memory that is none of the device's, or for words that are none.
TEST_F(Operations, MessagesDoNotLeadBeyondMemory) {
  ASSERT_EQ(open("kernels"), SLUICE_SUCCESS) << table->last_error();
  std::vector<unsigned char> unknown(kBytes);
  uint64_t word = 0;
  std::vector<sluice_stream_send_t> sends = {send(0, kBytes), send(0, kBytes), send(0, kBytes)};
  sends[0].dst = unknown.data();
  sends[1].src = unknown.data();
  sends[2].word = &word;
  std::vector<sluice_stream_receive_t> receives = {receive(0), receive(0), receive(0), receive(0)};
  receives[0].dst = unknown.data();
  receives[1].from.base = unknown.data();
  receives[2].word = &word;
  receives[3].taken = &word;
  const int before = loopback::state().n_kernels;
  for (const sluice_stream_send_t &one : sends) {
    sluice_stream_enqueued_t enqueued = {7, 7};
    EXPECT_NE(messages->send(streams_[0], &one, 1, &enqueued), SLUICE_SUCCESS);
    EXPECT_EQ(enqueued.n_messages + enqueued.n_commands, 0U);
  }
  for (const sluice_stream_receive_t &one : receives) {
    sluice_stream_enqueued_t enqueued = {7, 7};
    EXPECT_NE(messages->receive(streams_[0], &one, 1, &enqueued), SLUICE_SUCCESS);
    EXPECT_EQ(enqueued.n_messages + enqueued.n_commands, 0U);
  }
  EXPECT_EQ(loopback::state().n_kernels, before);
}

// In a process of its own, whose compiler refuses.
TEST_F(OperationsWithoutKernels, MemoryIsThere_AndKernelsAreRefused) {
  EXPECT_EQ(open("kernels"), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(table->last_error()).find("trigger_share"), std::string::npos) << table->last_error();
  ASSERT_EQ(open("auto"), SLUICE_SUCCESS) << table->last_error();
  expect_waits_and_triggers(0, 2);
  EXPECT_EQ(messages->can_carry(streams_[0]), 0);
}
