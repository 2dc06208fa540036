// SPDX-License-Identifier: BSD-3-Clause
// Copies between all kinds of memory, every byte checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "copy_checker.h"
#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"

using conformance::CopyCase;
using conformance::CopyWay;
using conformance::kGuardBytes;
using conformance::Queue;
using conformance::table;

namespace conformance::copies_test {
namespace {

constexpr size_t kMaxBytes = (size_t{1} << 20U) + 3;
constexpr size_t kMemoryBytes = kMaxBytes + 4 * kGuardBytes;
constexpr sluice_memory_kind_t kKinds[] = {SLUICE_MEMORY_HOST, SLUICE_MEMORY_PINNED, SLUICE_MEMORY_DEVICE,
                                           SLUICE_MEMORY_SHARED};

}  // namespace

// What another user lends the module, which must not ask for it once that user has gone: its library may be unloaded.
struct OtherUser {
  static inline bool has_gone = false;
  static inline int n_calls_since = 0;
  static void log(int /*level*/, const char * /*text*/) { n_calls_since += has_gone ? 1 : 0; }
  static const char *knob(const char * /*name*/) {
    n_calls_since += has_gone ? 1 : 0;
    return nullptr;
  }
};

// libsluice and a program that makes its device memory through the module are two users of one module.
TEST(Contract, StaysUsable_WhenAnotherUserHasComeAndGone) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  const sluice_host_services_t others = {sizeof others, OtherUser::log, OtherUser::knob};
  MAKE_MEMORY_OR_SKIP(src, SLUICE_MEMORY_HOST, 0, kMemoryBytes);
  MAKE_MEMORY_OR_SKIP(dst, SLUICE_MEMORY_DEVICE, 0, kMemoryBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  uint64_t iteration = 0;
  const auto expect_copies = [&] {
    const CopyCase copy_case{4097, kGuardBytes + 1, kGuardBytes + 3, ++iteration};
    EXPECT_EQ(conformance::check_copy(table(), queue.get(), src, dst, copy_case, CopyWay::kCopy), "");
    EXPECT_EQ(conformance::check_copy(table(), queue.get(), src, dst, copy_case, CopyWay::kEnqueue), "");
    sluice_pointer_info_t info = {};
    EXPECT_OK(table().query_pointer(dst.data(), &info));
    EXPECT_EQ(info.kind, SLUICE_MEMORY_DEVICE);
  };
  ASSERT_OK(table().init(&others));
  expect_copies();
  table().fini();
  OtherUser::has_gone = true;
  expect_copies();
  EXPECT_EQ(Queue(0).problem(), "");
  EXPECT_GT(table().device_count(), 0);
  EXPECT_EQ(OtherUser::n_calls_since, 0);
  OtherUser::has_gone = false;
}

class Between : public testing::TestWithParam<std::tuple<sluice_memory_kind_t, sluice_memory_kind_t, CopyWay>> {};

INSTANTIATE_TEST_SUITE_P(Copies, Between,
                         testing::Combine(testing::ValuesIn(kKinds), testing::ValuesIn(kKinds),
                                          testing::Values(CopyWay::kCopy, CopyWay::kEnqueue)),
                         [](const auto &of) {
                           return std::string(conformance::kind_name(std::get<0>(of.param))) + "_to_" +
                                  conformance::kind_name(std::get<1>(of.param)) +
                                  (std::get<2>(of.param) == CopyWay::kCopy ? "_copy" : "_enqueue");
                         });

TEST_P(Between, Copy_MovesEveryByteAndNoOther) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  const auto [src_kind, dst_kind, way] = GetParam();
  MAKE_MEMORY_OR_SKIP(src, src_kind, 0, kMemoryBytes);
  MAKE_MEMORY_OR_SKIP(dst, dst_kind, 0, kMemoryBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  uint64_t iteration = 0;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{7}, size_t{63}, size_t{4095}, size_t{4096}, size_t{4097},
                            size_t{65537}, kMaxBytes}) {
    for (const auto &[src_shift, dst_shift] : {std::pair<size_t, size_t>{0, 0}, {1, 0}, {3, 13}}) {
      if (size == kMaxBytes && src_shift != 3) continue;  // once is enough, and dear under a sanitizer
      const CopyCase copy_case{size, kGuardBytes + src_shift, kGuardBytes + dst_shift, ++iteration};
      ASSERT_EQ(conformance::check_copy(table(), queue.get(), src, dst, copy_case, way), "")
          << size << " bytes, shifted by " << src_shift << " and " << dst_shift;
    }
  }
}

TEST(Copies, WithinOneAllocation_AreRight) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 30000);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  const std::vector<std::byte> bytes = conformance::pattern(10000, 5);
  ASSERT_EQ(memory.write(bytes, 1), "");
  ASSERT_OK(table().copy(queue.get(), memory.data() + 15001, memory.data() + 1, 10000));
  std::vector<std::byte> after;
  ASSERT_EQ(memory.read(&after), "");
  EXPECT_EQ(conformance::pattern_mismatch(std::span(after).subspan(1, 10000), 5), "");
  EXPECT_EQ(conformance::pattern_mismatch(std::span(after).subspan(15001, 10000), 5), "");
}

TEST(Copies, BetweenDevices_AreRightOrRefused) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  if (table().device_count() < 2) GTEST_SKIP() << "missing: a second device";
  MAKE_MEMORY_OR_SKIP(src, SLUICE_MEMORY_DEVICE, 0, 100000);
  MAKE_MEMORY_OR_SKIP(dst, SLUICE_MEMORY_DEVICE, 1, 100000);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  const CopyCase copy_case{70001, kGuardBytes + 5, kGuardBytes, 9};
  const std::string problem = conformance::check_copy(table(), queue.get(), src, dst, copy_case, CopyWay::kCopy);
  EXPECT_OK(table().program_set_device(0));
  if (problem.starts_with("copy: SLUICE_ERROR_UNSUPPORTED")) GTEST_SKIP() << "missing: a path between devices";
  EXPECT_EQ(problem, "");
}

// A batch of pieces that together cover a buffer, given in an order of its own: down and up again.
TEST(Copies, Batch_PlacesEveryPiece) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kPieces = 257;
  constexpr size_t kPieceBytes = 391;
  constexpr size_t kBytes = kPieces * kPieceBytes;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes + 2 * kGuardBytes);
  MAKE_MEMORY_OR_SKIP(back, SLUICE_MEMORY_PINNED, 0, kBytes + 2 * kGuardBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  ASSERT_EQ(conformance::poison(device), "");
  ASSERT_EQ(conformance::poison(back), "");
  const std::vector<std::byte> bytes = conformance::pattern(kBytes, 3);
  std::vector<sluice_copy_t> up;
  std::vector<sluice_copy_t> down;
  for (size_t i = 0; i < kPieces; ++i) {
    const size_t at = i * kPieceBytes;
    up.push_back({device.data() + kGuardBytes + at, bytes.data() + at, kPieceBytes});
    down.push_back({back.data() + kGuardBytes + at, device.data() + kGuardBytes + at, kPieceBytes});
  }
  std::mt19937 random(7);
  std::ranges::shuffle(up, random);
  std::ranges::shuffle(down, random);
  ASSERT_OK(table().enqueue_copies(queue.get(), up.data(), up.size()));
  ASSERT_OK(table().enqueue_copies(queue.get(), down.data(), down.size()));
  uint64_t ticket = 0;
  ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
  ASSERT_OK(table().wait_ticket(queue.get(), ticket));
  EXPECT_EQ(conformance::check_memory(device, kGuardBytes, kBytes, 3), "");
  EXPECT_EQ(conformance::check_memory(back, kGuardBytes, kBytes, 3), "");
}

TEST(Copies, NothingToCopy_IsDone) {
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  char byte = 'x';
  const sluice_copy_t copy{&byte, &byte, 0};
  EXPECT_OK(table().copy(queue.get(), &byte, &byte, 0));
  EXPECT_OK(table().enqueue_copies(queue.get(), &copy, 1));
  EXPECT_OK(table().enqueue_copies(queue.get(), nullptr, 0));
  uint64_t ticket = 0;
  ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
  EXPECT_OK(table().wait_ticket(queue.get(), ticket));
  EXPECT_EQ(byte, 'x');
}

// Each step needs the one before: order within a queue, without any waiting in between.
TEST(Copies, OfOneQueue_KeepTheirOrder) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kBytes = (size_t{3} << 20U) + 1;
  MAKE_MEMORY_OR_SKIP(first, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(second, SLUICE_MEMORY_DEVICE, 0, kBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (uint64_t iteration = 0; iteration < 3; ++iteration) {
    const std::vector<std::byte> bytes = conformance::pattern(kBytes, iteration);
    std::vector<std::byte> back(kBytes);
    const sluice_copy_t steps[] = {{first.data(), bytes.data(), kBytes},
                                   {second.data(), first.data(), kBytes},
                                   {back.data(), second.data(), kBytes}};
    for (const sluice_copy_t &step : steps) ASSERT_OK(table().enqueue_copies(queue.get(), &step, 1));
    uint64_t ticket = 0;
    ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
    ASSERT_OK(table().wait_ticket(queue.get(), ticket));
    ASSERT_EQ(conformance::pattern_mismatch(back, iteration), "");
  }
}

// The blocking copy goes behind what was enqueued before it.
TEST(Copies, BlockingCopy_ComesAfterWhatWasEnqueued) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kBytes = size_t{8} << 20U;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (uint64_t iteration = 0; iteration < 3; ++iteration) {
    const std::vector<std::byte> bytes = conformance::pattern(kBytes, iteration);
    std::vector<std::byte> back(kBytes);
    const sluice_copy_t up{device.data(), bytes.data(), kBytes};
    ASSERT_OK(table().enqueue_copies(queue.get(), &up, 1));
    ASSERT_OK(table().copy(queue.get(), back.data(), device.data(), kBytes));
    ASSERT_EQ(conformance::pattern_mismatch(back, iteration), "");
  }
}

TEST(Copies, ProgramCopy_MovesBetweenAllKinds) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kBytes = 12345;
  uint64_t iteration = 100;
  for (const sluice_memory_kind_t src_kind : kKinds) {
    for (const sluice_memory_kind_t dst_kind : kKinds) {
      MAKE_MEMORY_OR_SKIP(src, src_kind, 0, kBytes);
      MAKE_MEMORY_OR_SKIP(dst, dst_kind, 0, kBytes);
      ASSERT_EQ(src.write(conformance::pattern(kBytes, ++iteration)), "");
      ASSERT_OK(table().program_copy(dst.data(), src.data(), kBytes));
      ASSERT_OK(table().program_synchronize());
      ASSERT_EQ(conformance::check_memory(dst, 0, kBytes, iteration), "");
    }
  }
}

}  // namespace conformance::copies_test
