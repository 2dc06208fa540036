// SPDX-License-Identifier: BSD-3-Clause
// Queues that really are asynchronous, and where their errors go.
#include <string>
#include <thread>
#include <vector>

#include "native.h"

using emu_test::DeviceMemory;
using emu_test::HostMemory;
using emu_test::Queue;
using emu_test::Settings;

TEST(Queues, EnqueuedCopies_AreNotDone_WhileTheQueueIsHeld) {
  const DeviceMemory device(1000);
  const HostMemory host(1000);
  host.data()[7] = std::byte{42};
  const Queue queue;
  ASSERT_EMU(emu_queue_hold(queue.get()));
  uint64_t ticket = 0;
  ASSERT_EMU(emu_memcpy_async(queue.get(), device.data(), host.data(), 1000));
  ASSERT_EMU(emu_queue_record(queue.get(), &ticket));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(emu_ticket_query(queue.get(), ticket), EMU_NOT_READY);
  std::byte seen{1};
  ASSERT_EMU(emu_memcpy(&seen, device.data() + 7, 1));
  EXPECT_EQ(seen, std::byte{0});
  ASSERT_EMU(emu_queue_release(queue.get()));
  EXPECT_EMU(emu_ticket_wait(queue.get(), ticket));
  ASSERT_EMU(emu_memcpy(&seen, device.data() + 7, 1));
  EXPECT_EQ(seen, std::byte{42});
}

TEST(Queues, OfOneDevice_RunIndependently) {
  const DeviceMemory device(1000);
  const std::vector<std::byte> host = emu_test::bytes_of(1000, 1);
  const Queue held;
  const Queue free_one;
  ASSERT_EMU(emu_queue_hold(held.get()));
  uint64_t held_ticket = 0;
  ASSERT_EMU(emu_memcpy_async(held.get(), device.data(), host.data(), 500));
  ASSERT_EMU(emu_queue_record(held.get(), &held_ticket));
  ASSERT_EMU(emu_memcpy_async(free_one.get(), device.data() + 500, host.data() + 500, 500));
  EXPECT_EMU(emu_queue_synchronize(free_one.get()));
  EXPECT_EQ(emu_ticket_query(held.get(), held_ticket), EMU_NOT_READY);
  ASSERT_EMU(emu_queue_release(held.get()));
  EXPECT_EMU(emu_device_synchronize());
  EXPECT_EMU(emu_ticket_query(held.get(), held_ticket));
}

TEST(Queues, BlockingCopy_WaitsItsTurn) {
  const DeviceMemory device(1000);
  const std::vector<std::byte> host = emu_test::bytes_of(1000, 4);
  std::vector<std::byte> back(1000);
  const Queue queue;
  ASSERT_EMU(emu_queue_hold(queue.get()));
  ASSERT_EMU(emu_memcpy_async(queue.get(), device.data(), host.data(), 1000));
  std::thread copier([&] { EXPECT_EMU(emu_queue_memcpy(queue.get(), back.data(), device.data(), 1000)); });
  ASSERT_EMU(emu_queue_release(queue.get()));
  copier.join();
  EXPECT_EQ(back, host);
}

TEST(Queues, AFailure_IsToldByItsTicketAlone) {
  const Settings settings;
  const DeviceMemory device(1000);
  const HostMemory host(1000);
  const Queue queue;
  uint64_t tickets[3] = {};
  ASSERT_EMU(emu_set_fault("copy:2"));
  for (uint64_t &ticket : tickets) {
    ASSERT_EMU(emu_memcpy_async(queue.get(), device.data(), host.data(), 1000));
    ASSERT_EMU(emu_queue_record(queue.get(), &ticket));
  }
  EXPECT_EMU(emu_ticket_wait(queue.get(), tickets[0]));
  EXPECT_EMU(emu_ticket_wait(queue.get(), tickets[2]));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(emu_ticket_query(queue.get(), tickets[1]), EMU_ERROR_COPY_FAILED);
    EXPECT_EQ(std::string(emu_last_error_text()), "EMU_ERROR_COPY_FAILED: fault injected into copy 2");
  }
}

TEST(Queues, MemoryFreedBeforeItsCopyRan_FailsTheCopy) {
  const HostMemory host(1000);
  const Queue queue;
  void *device = nullptr;
  ASSERT_EMU(emu_malloc_device(1000, &device));
  ASSERT_EMU(emu_queue_hold(queue.get()));
  ASSERT_EMU(emu_memcpy_async(queue.get(), device, host.data(), 1000));
  ASSERT_EMU(emu_free(device));
  ASSERT_EMU(emu_queue_release(queue.get()));
  EXPECT_EQ(emu_queue_synchronize(queue.get()), EMU_ERROR_INVALID_POINTER);
}

TEST(Queues, WrongTicketsAndQueues_AreRefused) {
  const Queue queue;
  EXPECT_EQ(emu_ticket_query(queue.get(), 0), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_ticket_query(queue.get(), 1), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_ticket_wait(queue.get(), 5), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_queue_record(queue.get(), nullptr), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_queue_synchronize(nullptr), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_queue_destroy(nullptr), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_memcpy_batch_async(queue.get(), nullptr, 2), EMU_ERROR_INVALID_VALUE);
}

TEST(Queues, ABatchWithOneWrongAddress_IsRefusedWhole) {
  const DeviceMemory device(1000);
  const std::vector<std::byte> host = emu_test::bytes_of(1000, 2);
  const Queue queue;
  const emu_copy_t copies[] = {{device.data(), host.data(), 500}, {device.data() + 600, host.data(), 500}};
  EXPECT_EQ(emu_memcpy_batch_async(queue.get(), copies, 2), EMU_ERROR_INVALID_POINTER);
  EXPECT_EMU(emu_queue_synchronize(queue.get()));
  std::vector<std::byte> back(1000);
  ASSERT_EMU(emu_memcpy(back.data(), device.data(), 1000));
  EXPECT_EQ(back, std::vector<std::byte>(1000));
}

TEST(Queues, DestroyOfAHeldQueue_RunsWhatIsQueued) {
  const DeviceMemory device(1000);
  const std::vector<std::byte> host = emu_test::bytes_of(1000, 9);
  emu_queue_t *queue = nullptr;
  ASSERT_EMU(emu_queue_create(&queue));
  ASSERT_EMU(emu_queue_hold(queue));
  ASSERT_EMU(emu_memcpy_async(queue, device.data(), host.data(), 1000));
  ASSERT_EMU(emu_queue_destroy(queue));
  std::vector<std::byte> back(1000);
  ASSERT_EMU(emu_memcpy(back.data(), device.data(), 1000));
  EXPECT_EQ(back, host);
}
