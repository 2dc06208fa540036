// SPDX-License-Identifier: BSD-3-Clause
// Faults on purpose.
#include <chrono>
#include <string>
#include <vector>

#include "native.h"

using emu_test::DeviceMemory;
using emu_test::HostMemory;
using emu_test::Queue;
using emu_test::Settings;

namespace {

size_t n_differences(const std::vector<std::byte> &a, const std::vector<std::byte> &b) {
  size_t n = 0;
  for (size_t i = 0; i < a.size(); ++i) n += a[i] == b[i] ? 0 : 1;
  return n;
}

}  // namespace

TEST(Faults, Allocations_FailAsAsked) {
  const Settings settings;
  void *memory = nullptr;
  ASSERT_EMU(emu_set_fault("alloc:2,host_alloc:1+"));
  ASSERT_EMU(emu_malloc_device(10, &memory));
  ASSERT_EMU(emu_free(memory));
  EXPECT_EQ(emu_malloc_device(10, &memory), EMU_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(std::string(emu_last_error_text()), "EMU_ERROR_OUT_OF_MEMORY: fault injected into alloc 2");
  ASSERT_EMU(emu_malloc_shared(10, &memory));
  ASSERT_EMU(emu_free(memory));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(emu_malloc_host(10, 0, &memory), EMU_ERROR_OUT_OF_MEMORY);
  ASSERT_EMU(emu_set_fault(""));
  ASSERT_EMU(emu_malloc_host(10, 0, &memory));
  ASSERT_EMU(emu_free(memory));
}

TEST(Faults, MemoryOfOthers_IsRefusedAsAsked) {
  const Settings settings;
  const DeviceMemory device(100);
  emu_ipc_handle_t handle{};
  void *memory = nullptr;
  ASSERT_EMU(emu_set_fault("ipc_export:2,ipc_open:1"));
  EXPECT_EMU(emu_ipc_export(device.data(), &handle));
  EXPECT_EQ(emu_ipc_export(device.data(), &handle), EMU_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(std::string(emu_last_error_text()), "EMU_ERROR_NOT_SUPPORTED: fault injected into ipc_export 2");
  EXPECT_EMU(emu_ipc_export(device.data() + 99, &handle));
  EXPECT_EQ(emu_ipc_open(&handle, &memory), EMU_ERROR_NOT_SUPPORTED);
  // Without the fault it is this process's own handle.
  EXPECT_EQ(emu_ipc_open(&handle, &memory), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory, nullptr);
}

TEST(Faults, QueuesAndTickets_FailAsAsked) {
  const Settings settings;
  const Queue queue;
  ASSERT_EMU(emu_set_fault("queue_create:1,ticket:2-3"));
  emu_queue_t *none = nullptr;
  EXPECT_EQ(emu_queue_create(&none), EMU_ERROR_QUEUE_FAILED);
  uint64_t ticket = 0;
  EXPECT_EMU(emu_queue_record(queue.get(), &ticket));
  EXPECT_EQ(emu_queue_record(queue.get(), &ticket), EMU_ERROR_QUEUE_FAILED);
  EXPECT_EQ(emu_queue_synchronize(queue.get()), EMU_ERROR_QUEUE_FAILED);
  EXPECT_EMU(emu_queue_synchronize(queue.get()));
}

TEST(Faults, ACopyThatFails_WritesNothing) {
  const Settings settings;
  const DeviceMemory device(100);
  std::vector<std::byte> host = emu_test::bytes_of(100, 1);
  ASSERT_EMU(emu_set_fault("copy:1"));
  EXPECT_EQ(emu_memcpy(device.data(), host.data(), 100), EMU_ERROR_COPY_FAILED);
  ASSERT_EMU(emu_memcpy(host.data(), device.data(), 100));
  EXPECT_EQ(host, std::vector<std::byte>(100));
}

TEST(Faults, QueueCopies_AreCountedApart) {
  const Settings settings;
  const DeviceMemory device(100);
  const HostMemory host(100);
  const Queue queue;
  ASSERT_EMU(emu_set_fault("queue_copy:2"));
  for (int i = 0; i < 5; ++i) ASSERT_EMU(emu_memcpy(device.data(), host.data(), 100));
  EXPECT_EMU(emu_queue_memcpy(queue.get(), device.data(), host.data(), 100));
  EXPECT_EQ(emu_queue_memcpy(queue.get(), device.data(), host.data(), 100), EMU_ERROR_COPY_FAILED);
  EXPECT_EMU(emu_queue_memcpy(queue.get(), device.data(), host.data(), 100));
}

TEST(Faults, Flip_ChangesOneByteInSilence) {
  const Settings settings;
  const DeviceMemory device(5000);
  const std::vector<std::byte> host = emu_test::bytes_of(5000, 1);
  std::vector<std::byte> back(5000);
  const Queue queue;
  ASSERT_EMU(emu_set_fault("flip:2,queue_flip:1"));
  ASSERT_EMU(emu_memcpy(device.data(), host.data(), 5000));
  ASSERT_EMU(emu_memcpy(back.data(), device.data(), 5000));
  EXPECT_EQ(n_differences(back, host), 1U);
  ASSERT_EMU(emu_queue_memcpy(queue.get(), back.data(), device.data(), 5000));
  EXPECT_EQ(n_differences(back, host), 1U);
  ASSERT_EMU(emu_queue_memcpy(queue.get(), back.data(), device.data(), 5000));
  EXPECT_EQ(back, host);
}

TEST(Faults, Lose_MovesNothingInSilence) {
  const Settings settings;
  const DeviceMemory device(5000);
  const std::vector<std::byte> host = emu_test::bytes_of(5000, 1);
  const std::vector<std::byte> before(5000);
  std::vector<std::byte> back = before;
  const Queue queue;
  ASSERT_EMU(emu_set_fault("lose:2,queue_lose:1"));
  ASSERT_EMU(emu_memcpy(device.data(), host.data(), 5000));
  ASSERT_EMU(emu_memcpy(back.data(), device.data(), 5000));
  EXPECT_EQ(back, before);
  ASSERT_EMU(emu_queue_memcpy(queue.get(), back.data(), device.data(), 5000));
  EXPECT_EQ(back, before);
  ASSERT_EMU(emu_queue_memcpy(queue.get(), back.data(), device.data(), 5000));
  EXPECT_EQ(back, host);
}

// Copies of one batch that write one place: which is last tells the order.
TEST(Faults, Reorder_ChangesTheOrderWithinABatchOnly) {
  const Settings settings;
  const DeviceMemory device(1);
  const std::vector<std::byte> host = emu_test::bytes_of(8, 1);
  const Queue queue;
  std::vector<emu_copy_t> copies;
  copies.reserve(host.size());
  for (const std::byte &byte : host) copies.push_back({device.data(), &byte, 1});
  const auto last_written = [&] {
    std::byte last{};
    EXPECT_EMU(emu_memcpy_batch_async(queue.get(), copies.data(), copies.size()));
    EXPECT_EMU(emu_queue_synchronize(queue.get()));
    EXPECT_EMU(emu_memcpy(&last, device.data(), 1));
    return last;
  };
  EXPECT_EQ(last_written(), host.back());
  ASSERT_EMU(emu_set_fault("reorder"));
  bool is_changed = false;
  for (int i = 0; i < 20; ++i) is_changed = last_written() != host.back() || is_changed;
  EXPECT_TRUE(is_changed);
  // Separate submissions stay in order.
  for (const emu_copy_t &copy : copies) ASSERT_EMU(emu_memcpy_batch_async(queue.get(), &copy, 1));
  ASSERT_EMU(emu_queue_synchronize(queue.get()));
  std::byte last{};
  ASSERT_EMU(emu_memcpy(&last, device.data(), 1));
  EXPECT_EQ(last, host.back());
}

TEST(Faults, Delay_IsAtLeastItsLowerBound) {
  const Settings settings;
  const DeviceMemory device(1);
  const char byte = 1;
  ASSERT_EMU(emu_set_fault("delay_us:2000-3000"));
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) ASSERT_EMU(emu_memcpy(device.data(), &byte, 1));
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::microseconds(6000));
}

class WrongSpecification : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Faults, WrongSpecification,
                         testing::Values("copy", "copy:", "copy:0", "copy:-1", "copy:3-2", "copy:1x", "copies:1",
                                         "delay_us:5", "delay_us:9-1", "delay_us:0-60000001", "reorder:1", ":1",
                                         "copy:1;flip:1"));

TEST_P(WrongSpecification, IsRefusedAndChangesNothing) {
  const Settings settings;
  void *memory = nullptr;
  ASSERT_EMU(emu_set_fault("host_alloc:1+"));
  EXPECT_EQ(emu_set_fault(GetParam()), EMU_ERROR_CONFIGURATION);
  EXPECT_NE(std::string(emu_last_error_text()).find(GetParam()), std::string::npos) << emu_last_error_text();
  EXPECT_EQ(emu_malloc_host(10, 0, &memory), EMU_ERROR_OUT_OF_MEMORY);
}
