// SPDX-License-Identifier: BSD-3-Clause
// After an error: a text, and all as usable as before.
#include <gtest/gtest.h>

#include <vector>

#include "copy_checker.h"
#include "memory.h"
#include "module_under_test.h"

using conformance::CopyCase;
using conformance::CopyWay;
using conformance::kGuardBytes;
using conformance::Memory;
using conformance::Queue;
using conformance::table;

namespace conformance::errors_test {
namespace {

// A copy up and down works; "" or what does not.
std::string still_works() {
  Memory host;
  Memory device;
  std::string problem = Memory::make(SLUICE_MEMORY_HOST, 0, 20000, &host);
  if (problem.empty()) problem = Memory::make(SLUICE_MEMORY_DEVICE, 0, 20000, &device);
  const Queue queue(0);
  if (problem.empty()) problem = queue.problem();
  const CopyCase copy_case{12345, kGuardBytes + 1, kGuardBytes, 77};
  for (const CopyWay way : {CopyWay::kCopy, CopyWay::kEnqueue}) {
    if (problem.empty()) problem = conformance::check_copy(table(), queue.get(), host, device, copy_case, way);
    if (problem.empty()) problem = conformance::check_copy(table(), queue.get(), device, host, copy_case, way);
  }
  return problem;
}

}  // namespace

TEST(Errors, DeviceOutOfMemory_IsSaidAndDoesNoHarm) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  MAKE_MEMORY_OR_SKIP(before, SLUICE_MEMORY_DEVICE, 0, 5000);
  ASSERT_EQ(conformance::poison(before), "");
  void *memory = nullptr;
  EXPECT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, size_t{1} << 60U, &memory), SLUICE_ERROR_OUT_OF_MEMORY);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(conformance::check_memory(before, 0, 0, 0), "");
  EXPECT_EQ(still_works(), "");
}

TEST(Errors, ProgramAlloc_RefusesKindsThatAreNone) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  for (const sluice_memory_kind_t kind : {SLUICE_MEMORY_HOST, SLUICE_MEMORY_FREED}) {
    void *memory = nullptr;
    EXPECT_EQ(table().program_alloc(kind, 100, &memory), SLUICE_ERROR_INVALID_ARGUMENT);
    EXPECT_STRNE(table().last_error(), "");
    EXPECT_EQ(memory, nullptr);
  }
  EXPECT_EQ(still_works(), "");
}

TEST(Errors, AfterABadDevice_AllWorks) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  sluice_queue_t *queue = nullptr;
  EXPECT_NE(table().queue_create(table().device_count() + 3, &queue), SLUICE_SUCCESS);
  void *memory = nullptr;
  EXPECT_NE(table().host_alloc(-7, 100, 0, &memory), SLUICE_SUCCESS);
  EXPECT_EQ(still_works(), "");
}

TEST(Errors, Success_DoesNotNeedTheText) {
  // The text of an old error may stay or go; asking for it is always allowed.
  sluice_pointer_info_t info;
  EXPECT_OK(table().query_pointer(&info, &info));
  EXPECT_NE(table().last_error(), nullptr);
}

}  // namespace conformance::errors_test
