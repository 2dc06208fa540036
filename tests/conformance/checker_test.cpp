// SPDX-License-Identifier: BSD-3-Clause
// The suite's own checker, examined: with a copy that is wrong in one way or another it must complain.
#include <gtest/gtest.h>

#include <vector>

#include "copy_checker.h"
#include "memory.h"
#include "module_under_test.h"

using conformance::CopyCase;
using conformance::CopyWay;
using conformance::kGuardBytes;
using conformance::Queue;
using conformance::table;

namespace conformance::checker_test {
namespace {

using CopyFunction = sluice_result_t (*)(sluice_queue_t *, void *, const void *, size_t);

// Copies from `src` with one byte changed on the way.
sluice_result_t flip_one_byte(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  const sluice_result_t result = table().copy(queue, bytes.data(), src, size_bytes);
  if (result != SLUICE_SUCCESS) return result;
  bytes[size_bytes / 2] ^= std::byte{1};
  return table().copy(queue, dst, bytes.data(), size_bytes);
}

sluice_result_t do_nothing(sluice_queue_t * /*queue*/, void * /*dst*/, const void * /*src*/, size_t /*size_bytes*/) {
  return SLUICE_SUCCESS;
}

sluice_result_t forget_the_last_byte(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  return table().copy(queue, dst, src, size_bytes - 1);
}

sluice_result_t write_one_byte_behind(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  static constexpr std::byte kByte{0};
  const sluice_result_t result = table().copy(queue, dst, src, size_bytes);
  return result == SLUICE_SUCCESS ? table().copy(queue, static_cast<std::byte *>(dst) + size_bytes, &kByte, 1) : result;
}

sluice_result_t write_one_byte_before(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  static constexpr std::byte kByte{0};
  const sluice_result_t result = table().copy(queue, dst, src, size_bytes);
  return result == SLUICE_SUCCESS ? table().copy(queue, static_cast<std::byte *>(dst) - 1, &kByte, 1) : result;
}

sluice_result_t shift_by_one(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  return table().copy(queue, dst, static_cast<const std::byte *>(src) + 1, size_bytes);
}

sluice_result_t spoil_the_source(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  static constexpr std::byte kByte{0x77};
  const sluice_result_t result = table().copy(queue, dst, src, size_bytes);
  return result == SLUICE_SUCCESS ? table().copy(queue, const_cast<void *>(src), &kByte, 1) : result;
}

struct Spoiled {
  const char *name;
  CopyFunction copy;
};

constexpr Spoiled kSpoiled[] = {{"FlipOneByte", flip_one_byte},
                                {"DoNothing", do_nothing},
                                {"ForgetTheLastByte", forget_the_last_byte},
                                {"WriteOneByteBehind", write_one_byte_behind},
                                {"WriteOneByteBefore", write_one_byte_before},
                                {"ShiftByOne", shift_by_one},
                                {"SpoilTheSource", spoil_the_source}};

}  // namespace

class FaultyCopy : public testing::TestWithParam<Spoiled> {};
INSTANTIATE_TEST_SUITE_P(Checker, FaultyCopy, testing::ValuesIn(kSpoiled),
                         [](const auto &of) { return of.param.name; });

TEST_P(FaultyCopy, IsNoticed) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  MAKE_MEMORY_OR_SKIP(src, SLUICE_MEMORY_HOST, 0, 20000);
  MAKE_MEMORY_OR_SKIP(dst, SLUICE_MEMORY_DEVICE, 0, 20000);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  const CopyCase copy_case{10001, kGuardBytes, kGuardBytes + 1, 4};
  ASSERT_EQ(conformance::check_copy(table(), queue.get(), src, dst, copy_case, CopyWay::kCopy), "");
  sluice_backend_t spoiled = table();
  spoiled.copy = GetParam().copy;
  EXPECT_NE(conformance::check_copy(spoiled, queue.get(), src, dst, copy_case, CopyWay::kCopy), "");
}

}  // namespace conformance::checker_test
