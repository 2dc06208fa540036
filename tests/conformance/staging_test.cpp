// SPDX-License-Identifier: BSD-3-Clause
// Staging memory: host_alloc, host_free, preferred_staging.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"

using conformance::table;

namespace conformance::staging_test {
namespace {

// Has the kernel read all of it, as a host MPI's sockets or process_vm_readv would. False when it cannot.
bool kernel_can_read(const std::byte *memory, size_t size_bytes, uint64_t iteration) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return false;
  bool is_right = true;
  std::array<std::byte, 4096> chunk{};
  for (size_t at = 0; at < size_bytes && is_right; at += chunk.size()) {
    const size_t n = std::min(chunk.size(), size_bytes - at);
    is_right = write(ends[1], memory + at, n) == static_cast<ssize_t>(n) &&
               read(ends[0], chunk.data(), n) == static_cast<ssize_t>(n);
    for (size_t i = 0; i < n && is_right; ++i) is_right = chunk[i] == conformance::pattern_byte(at + i, iteration);
  }
  close(ends[0]);
  close(ends[1]);
  return is_right;
}

}  // namespace

class Alignment : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Staging, Alignment, testing::Values(0, 1, 64, 4096, 65536, 2097152));

TEST_P(Alignment, HostAlloc_IsAlignedAndTheCpuAndTheKernelReachIt) {
  for (int32_t device = 0; device < table().device_count(); ++device) {
    for (const size_t size : {size_t{1}, size_t{4095}, (size_t{1} << 20U) + 3}) {
      void *memory = nullptr;
      ASSERT_OK(table().host_alloc(device, size, GetParam(), &memory));
      ASSERT_NE(memory, nullptr);
      if (GetParam() > 1) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % GetParam(), 0U);
      }
      const std::vector<std::byte> bytes = conformance::pattern(size, size);
      std::memcpy(memory, bytes.data(), size);
      EXPECT_TRUE(kernel_can_read(static_cast<std::byte *>(memory), size, size));
      sluice_pointer_info_t info{};
      EXPECT_OK(table().query_pointer(static_cast<std::byte *>(memory) + size - 1, &info));
      EXPECT_EQ(info.kind, SLUICE_MEMORY_PINNED) << conformance::kind_name(info.kind);
      EXPECT_OK(table().host_free(device, memory));
    }
  }
}

TEST(Staging, BadAlignment_IsRefused) {
  void *memory = nullptr;
  EXPECT_EQ(table().host_alloc(0, 4096, 3, &memory), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(memory, nullptr);
}

TEST(Staging, TooMuch_IsOutOfMemory_AndLaterCallsWork) {
  void *memory = nullptr;
  EXPECT_EQ(table().host_alloc(0, size_t{1} << 60U, 0, &memory), SLUICE_ERROR_OUT_OF_MEMORY);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(memory, nullptr);
  ASSERT_OK(table().host_alloc(0, 4096, 0, &memory));
  std::memset(memory, 1, 4096);
  EXPECT_OK(table().host_free(0, memory));
}

TEST(Staging, ManyTimes_TakesAndGivesBack) {
  for (int i = 0; i < 200; ++i) {
    void *memory = nullptr;
    ASSERT_OK(table().host_alloc(0, 65536, 4096, &memory));
    std::memset(memory, i, 65536);
    ASSERT_OK(table().host_free(0, memory));
  }
}

TEST(Staging, Preferred_IsOneOfTheFour) {
  for (int32_t device = 0; device < table().device_count(); ++device) {
    const sluice_staging_memory_t kind = table().preferred_staging(device);
    EXPECT_GE(kind, SLUICE_STAGING_MALLOC);
    EXPECT_LE(kind, SLUICE_STAGING_RUNTIME_ALIGNED);
  }
}

}  // namespace conformance::staging_test
