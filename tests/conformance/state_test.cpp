// SPDX-License-Identifier: BSD-3-Clause
// The caller's current device is as before after every call.
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "memory.h"
#include "module_under_test.h"

using conformance::table;

namespace conformance::state_test {
namespace {

// The device that memory allocated now comes from: what the thread's current device is, as the program sees it.
int32_t current_device() {
  void *memory = nullptr;
  EXPECT_OK(table().program_alloc(SLUICE_MEMORY_DEVICE, 4096, &memory));
  sluice_pointer_info_t info{};
  EXPECT_OK(table().query_pointer(memory, &info));
  EXPECT_OK(table().program_free(memory));
  return info.device;
}

}  // namespace

TEST(State, CurrentDevice_IsAsBefore_AfterEveryCall) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  if (table().device_count() < 2) GTEST_SKIP() << "missing: a second device";
  MAKE_MEMORY_OR_SKIP(far_memory, SLUICE_MEMORY_DEVICE, 0, 4096);
  ASSERT_OK(table().program_set_device(1));
  ASSERT_EQ(current_device(), 1);

  std::vector<std::byte> host(4096);
  sluice_device_info_t device_info;
  sluice_pointer_info_t pointer_info;
  void *staging = nullptr;
  sluice_queue_t *queue = nullptr;
  const sluice_copy_t copy{host.data(), far_memory.data(), host.size()};
  uint64_t ticket = 0;
  const std::pair<const char *, std::function<sluice_result_t()>> calls[] = {
      {"device_info", [&] { return table().device_info(0, &device_info); }},
      {"query_pointer", [&] { return table().query_pointer(far_memory.data(), &pointer_info); }},
      {"host_alloc", [&] { return table().host_alloc(0, 4096, 0, &staging); }},
      {"queue_create", [&] { return table().queue_create(0, &queue); }},
      {"enqueue_copies", [&] { return table().enqueue_copies(queue, &copy, 1); }},
      {"enqueue_ticket", [&] { return table().enqueue_ticket(queue, &ticket); }},
      {"wait_ticket", [&] { return table().wait_ticket(queue, ticket); }},
      {"test_ticket", [&] { return table().test_ticket(queue, ticket); }},
      {"copy", [&] { return table().copy(queue, host.data(), far_memory.data(), host.size()); }},
      {"queue_destroy", [&] { return table().queue_destroy(queue); }},
      {"host_free", [&] { return table().host_free(0, staging); }},
  };
  for (const auto &[name, call] : calls) {
    const sluice_result_t result = call();
    ASSERT_EQ(result, SLUICE_SUCCESS) << name << ": " << conformance::describe(result);
    EXPECT_EQ(current_device(), 1) << "after " << name;
  }
  // Calls that fail as well.
  EXPECT_NE(table().host_alloc(0, size_t{1} << 60U, 0, &staging), SLUICE_SUCCESS);
  EXPECT_EQ(current_device(), 1) << "after a failed host_alloc";
  EXPECT_NE(table().queue_create(-1, &queue), SLUICE_SUCCESS);
  EXPECT_EQ(current_device(), 1) << "after a failed queue_create";
  EXPECT_OK(table().program_set_device(0));
}

}  // namespace conformance::state_test
