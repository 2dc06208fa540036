// SPDX-License-Identifier: BSD-3-Clause
// Which devices there are, and indices that are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "memory.h"
#include "module_under_test.h"

using conformance::table;

namespace conformance::devices_test {
namespace {

template <size_t n>
bool is_terminated(const char (&text)[n]) {
  return std::memchr(text, '\0', n) != nullptr;
}

// "" or "0000:1b:00.0": domain of 4 to 8 digits, bus, device, function.
bool is_pci_address(std::string_view text) {
  if (text.empty()) return true;
  const size_t domain = text.find(':');
  if (domain == std::string_view::npos || domain < 4 || domain > 8 || text.size() != domain + 8) return false;
  if (text[domain + 3] != ':' || text[domain + 6] != '.') return false;
  const std::string_view separators = ":.";
  return std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || separators.find(c) != std::string_view::npos;
  });
}

}  // namespace

TEST(Devices, Count_IsAtLeastOne_AfterInit) {
  EXPECT_GE(table().device_count(), 1);
}

TEST(Devices, Info_IsFilled) {
  for (int32_t device = 0; device < table().device_count(); ++device) {
    sluice_device_info_t info;
    std::memset(&info, 0x5A, sizeof(info));
    ASSERT_OK(table().device_info(device, &info));
    ASSERT_TRUE(is_terminated(info.name) && is_terminated(info.runtime) && is_terminated(info.pci_address));
    EXPECT_STRNE(info.name, "");
    EXPECT_STRNE(info.runtime, "");
    EXPECT_TRUE(is_pci_address(info.pci_address)) << info.pci_address;
    EXPECT_GE(info.numa_node, -1);
    EXPECT_LT(info.numa_node, 4096);
    std::printf("device %d: %s, %s, \"%s\", node %d, %llu bytes\n", device, info.name, info.runtime, info.pci_address,
                info.numa_node, static_cast<unsigned long long>(info.memory_bytes));
  }
}

TEST(Devices, Traits_StayAsTheyAre) {
  if (table().device_traits == nullptr) return;  // optional: no device of this backend has any
  constexpr uint32_t kAll = SLUICE_DEVICE_NO_EXPORT | SLUICE_DEVICE_COPIES_BY_CPU | SLUICE_DEVICE_CROWDED_ENGINES;
  for (int32_t device = 0; device < table().device_count(); ++device) {
    const uint32_t traits = table().device_traits(device);
    EXPECT_EQ(traits & ~kAll, 0U);
    EXPECT_EQ(table().device_traits(device), traits);
  }
  EXPECT_EQ(table().device_traits(-1), 0U);
  EXPECT_EQ(table().device_traits(table().device_count()), 0U);
}

class BadIndex : public testing::TestWithParam<int32_t> {};

TEST_P(BadIndex, Devices_IsRefusedWithAText) {
  const int32_t offset = GetParam();
  const int32_t bad = offset < 0 ? offset : (offset == INT_MAX ? INT_MAX : table().device_count() + offset);
  sluice_device_info_t info;
  EXPECT_EQ(table().device_info(bad, &info), SLUICE_ERROR_NO_DEVICE);
  EXPECT_STRNE(table().last_error(), "");
  void *memory = nullptr;
  EXPECT_EQ(table().host_alloc(bad, 4096, 0, &memory), SLUICE_ERROR_NO_DEVICE);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(memory, nullptr);
  sluice_queue_t *queue = nullptr;
  EXPECT_EQ(table().queue_create(bad, &queue), SLUICE_ERROR_NO_DEVICE);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(queue, nullptr);
  if (conformance::has_program_group()) {
    EXPECT_EQ(table().program_set_device(bad), SLUICE_ERROR_NO_DEVICE);
    EXPECT_STRNE(table().last_error(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, BadIndex, testing::Values(-1, INT_MIN, 0, 1, INT_MAX));

}  // namespace conformance::devices_test
