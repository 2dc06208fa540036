// SPDX-License-Identifier: BSD-3-Clause
// Commands on words: what the conformance suite cannot see from outside.
#include <string>
#include <thread>

#include "native.h"

using emu_test::DeviceMemory;
using emu_test::HostMemory;
using emu_test::Queue;
using emu_test::Settings;

namespace {

uint64_t *word_of(const HostMemory &memory) {
  return reinterpret_cast<uint64_t *>(memory.data());
}

uint64_t load(const uint64_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

}  // namespace

TEST(Words, OfOtherMemory_AreRefused) {
  const DeviceMemory device(64);
  alignas(8) uint64_t own = 0;
  const HostMemory host(64);
  const Queue queue;
  EXPECT_EQ(emu_queue_write64(queue.get(), reinterpret_cast<uint64_t *>(device.data()), 1), EMU_ERROR_INVALID_POINTER);
  EXPECT_EQ(emu_queue_wait64(queue.get(), &own, 1), EMU_ERROR_INVALID_POINTER);
  EXPECT_EQ(emu_queue_wait64(queue.get(), nullptr, 1), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_queue_write64(queue.get(), reinterpret_cast<uint64_t *>(host.data() + 1), 1), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_queue_write64(nullptr, word_of(host), 1), EMU_ERROR_INVALID_VALUE);
  EXPECT_EMU(emu_queue_synchronize(queue.get()));
}

TEST(Words, AreCheckedForAKernelAsForACommand) {
  const DeviceMemory device(64);
  alignas(8) uint64_t own = 0;
  const HostMemory host(64);
  const Queue queue;
  EXPECT_EMU(emu_queue_check_word(queue.get(), word_of(host)));
  EXPECT_EQ(emu_queue_check_word(queue.get(), &own), EMU_ERROR_INVALID_POINTER);
  EXPECT_EQ(emu_queue_check_word(queue.get(), reinterpret_cast<uint64_t *>(device.data())), EMU_ERROR_INVALID_POINTER);
  EXPECT_EQ(emu_queue_check_word(queue.get(), reinterpret_cast<uint64_t *>(host.data() + 1)), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_queue_check_word(nullptr, word_of(host)), EMU_ERROR_INVALID_VALUE);
}

TEST(Words, AreWhatAKernelMayWaitFor) {
  const HostMemory host(64);
  const Queue queue;
  const auto wait_for_seven = [](const void * /*arguments*/, void *const *memory) {
    while (load(static_cast<const uint64_t *>(memory[0])) != 7 && emu_kernel_pause() == EMU_SUCCESS) {
    }
  };
  const emu_range_t range = {word_of(host), sizeof(uint64_t)};
  __atomic_store_n(word_of(host), uint64_t{6}, __ATOMIC_RELEASE);
  ASSERT_EMU(emu_launch_async(queue.get(), wait_for_seven, nullptr, 0, &range, 1, 1));
  uint64_t ticket = 0;
  ASSERT_EMU(emu_queue_record(queue.get(), &ticket));
  EXPECT_EQ(emu_ticket_query(queue.get(), ticket), EMU_NOT_READY);
  __atomic_store_n(word_of(host), uint64_t{7}, __ATOMIC_RELEASE);
  EXPECT_EMU(emu_ticket_wait(queue.get(), ticket));
  EXPECT_EQ(emu_kernel_pause(), EMU_ERROR_INVALID_VALUE) << "this is no kernel";
}

TEST(Words, FreedWhileAQueueWaits_EndTheWait) {
  const Queue queue;
  void *memory = nullptr;
  ASSERT_EMU(emu_malloc_host(64, 0, &memory));
  ASSERT_EMU(emu_queue_wait64(queue.get(), static_cast<uint64_t *>(memory), 1));
  uint64_t ticket = 0;
  ASSERT_EMU(emu_queue_record(queue.get(), &ticket));
  EXPECT_EQ(emu_ticket_query(queue.get(), ticket), EMU_NOT_READY);
  ASSERT_EMU(emu_free(memory));
  EXPECT_EQ(emu_ticket_wait(queue.get(), ticket), EMU_ERROR_INVALID_POINTER);
}

TEST(Words, WithFaults_FailAsAsked) {
  const Settings settings;
  const HostMemory host(64);
  const Queue queue;
  ASSERT_EMU(emu_set_fault("word:2"));
  ASSERT_EMU(emu_queue_write64(queue.get(), word_of(host), 5));
  ASSERT_EMU(emu_queue_write64(queue.get(), word_of(host), 6));
  EXPECT_EQ(emu_queue_synchronize(queue.get()), EMU_ERROR_QUEUE_FAILED);
  EXPECT_EQ(std::string(emu_last_error_text()), "EMU_ERROR_QUEUE_FAILED: fault injected into word 2");
  EXPECT_EQ(load(word_of(host)), 5U);
  ASSERT_EMU(emu_set_fault("early:1"));
  ASSERT_EMU(emu_queue_wait64(queue.get(), word_of(host), 1000));
  EXPECT_EMU(emu_queue_synchronize(queue.get()));
}

TEST(Words, Delayed_KeepTheirOrder) {
  const Settings settings;
  const HostMemory host(64);
  const Queue queue;
  ASSERT_EMU(emu_set_fault("delay_us:0-300"));
  for (uint64_t value = 1; value <= 50; ++value) ASSERT_EMU(emu_queue_write64(queue.get(), word_of(host), value));
  for (uint64_t before = 0; before < 50;) {
    const uint64_t now = load(word_of(host));
    ASSERT_GE(now, before);
    before = now;
    std::this_thread::yield();
  }
  EXPECT_EMU(emu_queue_synchronize(queue.get()));
}

TEST(Words, DeviceOfAQueue_IsToldForQueuesAlone) {
  int32_t device = -1;
  {
    const Queue queue;
    EXPECT_EMU(emu_queue_device(queue.get(), &device));
    EXPECT_EQ(device, 0);
    EXPECT_EQ(emu_queue_device(queue.get(), nullptr), EMU_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(emu_queue_device(reinterpret_cast<emu_queue_t *>(&device), &device), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_queue_device(nullptr, &device), EMU_ERROR_INVALID_VALUE);
}
