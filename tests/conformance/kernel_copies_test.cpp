// SPDX-License-Identifier: BSD-3-Clause
// enqueue_kernel_copies: several copies by one kernel, every byte of the destinations and around them; and
// enqueue_compare_and_swap, by the same kernel.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"

using conformance::Memory;
using conformance::Queue;
using conformance::table;

namespace conformance::kernel_copies_test {
namespace {

constexpr size_t kRoomBytes = 70000;  // of each copy in the memories, guards included

struct Shape {
  size_t size_bytes;
  size_t src_shift;
  size_t dst_shift;
};

const std::vector<std::vector<Shape>> &lists() {
  static const std::vector<std::vector<Shape>> all = [] {
    std::vector<std::vector<Shape>> made = {{},
                                            {{0, 0, 0}},
                                            {{1, 0, 0}},
                                            {{65536, 0, 0}, {65536, 64, 64}},
                                            {{4096, 0, 0}, {4096, 1, 0}, {4096, 4, 8}, {0, 0, 0}, {60001, 3, 3}}};
    auto &most = made.emplace_back();
    for (size_t k = 0; k < SLUICE_KERNEL_MAX_COPIES; ++k) most.push_back({k * 517, k, 3 * k});
    return made;
  }();
  return all;
}

std::byte content(size_t i) {
  return static_cast<std::byte>(i * 11 + i / 253);
}

// Copies from memory of `kind` into device memory through `backend`. "" or what is wrong.
std::string check(const sluice_backend_t &backend, sluice_queue_t *queue, sluice_memory_kind_t kind,
                  const std::vector<Shape> &shapes) {
  const size_t room_bytes = (shapes.size() + 1) * kRoomBytes;
  std::vector<std::byte> input(room_bytes);
  for (size_t i = 0; i < room_bytes; ++i) input[i] = content(i);
  Memory src;
  Memory dst;
  std::string problem = Memory::make(kind, 0, room_bytes, &src);
  if (problem.empty()) problem = Memory::make(SLUICE_MEMORY_DEVICE, 0, room_bytes, &dst);
  std::vector<std::byte> wanted(room_bytes, kPoison);
  if (problem.empty()) problem = src.write(input);
  if (problem.empty()) problem = dst.write(wanted);
  if (!problem.empty()) return problem;
  std::vector<sluice_copy_t> copies;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const size_t from = k * kRoomBytes + shapes[k].src_shift;
    const size_t to = k * kRoomBytes + shapes[k].dst_shift;
    copies.push_back({dst.data() + to, src.data() + from, shapes[k].size_bytes});
    for (size_t i = 0; i < shapes[k].size_bytes; ++i) wanted[to + i] = input[from + i];
  }
  const sluice_result_t result =
      await(backend, queue, backend.enqueue_kernel_copies(queue, copies.data(), copies.size()));
  if (result != SLUICE_SUCCESS) return conformance::describe(result);
  std::vector<std::byte> after;
  if (problem = dst.read(&after); !problem.empty()) return problem;
  if (after != wanted) return "the destinations, or what lies around them";
  if (problem = src.read(&after); !problem.empty()) return problem;
  return after == input ? "" : "a source has changed";
}

std::string check_all(const sluice_backend_t &backend) {
  const Queue queue(0);
  if (!queue.problem().empty()) return queue.problem();
  for (const auto kind : {SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_PINNED}) {
    for (size_t k = 0; k < lists().size(); ++k) {
      const std::string wrong = check(backend, queue.get(), kind, lists()[k]);
      if (!wrong.empty()) return wrong + " (list " + std::to_string(k) + ")";
    }
  }
  return "";
}

// Compares and swaps an element in device memory through `backend`; what belongs to it lies in memory of `kind`.
std::string check_swap(const sluice_backend_t &backend, sluice_queue_t *queue, sluice_memory_kind_t kind,
                       size_t size_bytes, size_t shift, bool is_equal) {
  constexpr size_t kPartBytes = 64;
  constexpr size_t kCompareAt = 0;
  constexpr size_t kOperandAt = kPartBytes;
  constexpr size_t kBeforeAt = 2 * kPartBytes;
  std::vector<std::byte> element(kPartBytes, kPoison);
  std::vector<std::byte> others(3 * kPartBytes, kPoison);
  for (size_t i = 0; i < size_bytes; ++i) {
    element[shift + i] = content(i + size_bytes);
    others[kCompareAt + shift + i] = element[shift + i];
    others[kOperandAt + shift + i] = content(2 * i + shift + 100);
  }
  if (!is_equal) others[kCompareAt + shift + size_bytes - 1] ^= std::byte{1};
  Memory target;
  Memory beside;
  std::string problem = Memory::make(SLUICE_MEMORY_DEVICE, 0, element.size(), &target);
  if (problem.empty()) problem = Memory::make(kind, 0, others.size(), &beside);
  if (problem.empty()) problem = target.write(element);
  if (problem.empty()) problem = beside.write(others);
  if (!problem.empty()) return problem;
  const sluice_swap_t swap = {target.data() + shift, beside.data() + kCompareAt + shift,
                              beside.data() + kOperandAt + shift, beside.data() + kBeforeAt + shift, size_bytes};
  for (size_t i = 0; i < size_bytes; ++i) {
    others[kBeforeAt + shift + i] = element[shift + i];
    if (is_equal) element[shift + i] = others[kOperandAt + shift + i];
  }
  const sluice_result_t result = await(backend, queue, backend.enqueue_compare_and_swap(queue, &swap));
  if (result != SLUICE_SUCCESS) return conformance::describe(result);
  std::vector<std::byte> after;
  if (problem = target.read(&after); !problem.empty()) return problem;
  if (after != element) return "the element, or what lies around it";
  if (problem = beside.read(&after); !problem.empty()) return problem;
  return after == others ? "" : "what was there, or what is only read";
}

std::string check_all_swaps(const sluice_backend_t &backend) {
  const Queue queue(0);
  if (!queue.problem().empty()) return queue.problem();
  for (const auto kind : {SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_PINNED}) {
    for (const size_t size_bytes : {1, 2, 4, 8, 12, 16}) {
      for (const size_t shift : {0, 4, 8, 13}) {
        for (const bool is_equal : {true, false}) {
          const std::string wrong = check_swap(backend, queue.get(), kind, size_bytes, shift, is_equal);
          if (wrong.empty()) continue;
          return wrong + " (" + std::to_string(size_bytes) + " bytes, " + (is_equal ? "equal)" : "different)");
        }
      }
    }
  }
  return "";
}

// Why this backend has no such kernel on its first device; "" where it has.
std::string missing() {
  if (table().enqueue_kernel_copies == nullptr) return "enqueue_kernel_copies";
  const Queue queue(0);
  const std::string problem = check(table(), queue.get(), SLUICE_MEMORY_DEVICE, {{64, 0, 0}});
  return problem.starts_with("SLUICE_ERROR_UNSUPPORTED") ? problem : "";
}

sluice_result_t forget_the_last(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return table().enqueue_kernel_copies(queue, copies, n_copies == 0 ? 0 : n_copies - 1);
}

sluice_result_t write_one_byte_behind(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  std::vector<sluice_copy_t> longer(copies, copies + n_copies);
  for (sluice_copy_t &copy : longer) ++copy.size_bytes;
  return table().enqueue_kernel_copies(queue, longer.data(), n_copies);
}

sluice_result_t do_nothing(sluice_queue_t * /*queue*/, const sluice_copy_t * /*copies*/, size_t /*n_copies*/) {
  return SLUICE_SUCCESS;
}

sluice_result_t swap_whatever_is_there(sluice_queue_t *queue, const sluice_swap_t *swap) {
  sluice_swap_t always = *swap;
  always.compare = swap->target;
  return table().enqueue_compare_and_swap(queue, &always);
}

sluice_result_t swap_nothing(sluice_queue_t * /*queue*/, const sluice_swap_t * /*swap*/) {
  return SLUICE_SUCCESS;
}

}  // namespace

#define SKIP_WITHOUT_KERNEL_COPIES()                              \
  do {                                                            \
    SKIP_WITHOUT_PROGRAM_GROUP();                                 \
    const std::string lacking = missing();                        \
    if (!lacking.empty()) GTEST_SKIP() << "missing: " << lacking; \
  } while (false)

TEST(KernelCopies, BringEveryByte) {
  SKIP_WITHOUT_KERNEL_COPIES();
  EXPECT_EQ(check_all(table()), "");
}

// Up, across twice by kernels, down, with no waiting in between: order within the queue holds for kernels too.
TEST(KernelCopies, KeepTheOrderOfTheQueue) {
  SKIP_WITHOUT_KERNEL_COPIES();
  constexpr size_t kBytes = 200003;
  MAKE_MEMORY_OR_SKIP(first, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(second, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(host, SLUICE_MEMORY_PINNED, 0, kBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (size_t iteration = 1; iteration <= 3; ++iteration) {
    for (size_t i = 0; i < kBytes; ++i) host.data()[i] = content(i + iteration);
    const sluice_copy_t up = {first.data(), host.data(), kBytes};
    const sluice_copy_t across[] = {{second.data(), first.data(), kBytes / 2},
                                    {second.data() + kBytes / 2, first.data() + kBytes / 2, kBytes - kBytes / 2}};
    const sluice_copy_t back[] = {{first.data() + 1, second.data(), kBytes - 1},
                                  {first.data(), second.data() + kBytes - 1, 1}};
    const sluice_copy_t down = {host.data(), first.data(), kBytes};
    uint64_t ticket = 0;
    ASSERT_OK(table().enqueue_copies(queue.get(), &up, 1));
    ASSERT_OK(table().enqueue_kernel_copies(queue.get(), across, 2));
    ASSERT_OK(table().enqueue_kernel_copies(queue.get(), back, 2));
    ASSERT_OK(table().enqueue_copies(queue.get(), &down, 1));
    ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
    ASSERT_OK(table().wait_ticket(queue.get(), ticket));
    for (size_t i = 0; i < kBytes; ++i) {
      ASSERT_EQ(host.data()[i], content((i + kBytes - 1) % kBytes + iteration)) << i;
    }
  }
}

TEST(KernelCopies, AreRefused_WhenTheirArgumentsAreNone) {
  SKIP_WITHOUT_KERNEL_COPIES();
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 4096);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  const std::vector<sluice_copy_t> many(SLUICE_KERNEL_MAX_COPIES + 1, {memory.data(), memory.data() + 64, 0});
  const auto expect_invalid = [&](const sluice_copy_t *copies, size_t n_copies) {
    EXPECT_EQ(table().enqueue_kernel_copies(queue.get(), copies, n_copies), SLUICE_ERROR_INVALID_ARGUMENT);
    EXPECT_STRNE(table().last_error(), "");
  };
  expect_invalid(many.data(), many.size());
  expect_invalid(nullptr, 1);
  const sluice_copy_t to_nothing = {nullptr, memory.data(), 8};
  expect_invalid(&to_nothing, 1);
  const sluice_copy_t from_nothing = {memory.data(), nullptr, 8};
  expect_invalid(&from_nothing, 1);
  // The queue is as good as before.
  EXPECT_EQ(check(table(), queue.get(), SLUICE_MEMORY_DEVICE, {{500, 1, 0}, {600, 0, 2}}), "");
}

TEST(KernelCopies, SwapAnElement_IfItIsWhatIsExpected) {
  SKIP_WITHOUT_KERNEL_COPIES();
  EXPECT_EQ(check_all_swaps(table()), "");
}

TEST(KernelCopies, RefuseASwap_WhoseArgumentsAreNone) {
  SKIP_WITHOUT_KERNEL_COPIES();
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 4096);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  std::byte *const at = memory.data();
  const auto expect_invalid = [&](const sluice_swap_t *swap) {
    EXPECT_EQ(table().enqueue_compare_and_swap(queue.get(), swap), SLUICE_ERROR_INVALID_ARGUMENT);
    EXPECT_STRNE(table().last_error(), "");
  };
  expect_invalid(nullptr);
  for (const sluice_swap_t &swap : {sluice_swap_t{nullptr, at + 16, at + 32, at + 48, 8},
                                    {at, nullptr, at + 32, at + 48, 8},
                                    {at, at + 16, nullptr, at + 48, 8},
                                    {at, at + 16, at + 32, nullptr, 8},
                                    {at, at + 16, at + 32, at + 48, 0},
                                    {at, at + 32, at + 64, at + 96, SLUICE_SWAP_MAX_BYTES + 1}}) {
    expect_invalid(&swap);
  }
  EXPECT_EQ(check_swap(table(), queue.get(), SLUICE_MEMORY_DEVICE, 8, 0, true), "");
}

TEST(KernelCopies, AreSeenToSwapWrongly) {
  SKIP_WITHOUT_KERNEL_COPIES();
  for (auto *const wrong : {swap_whatever_is_there, swap_nothing}) {
    sluice_backend_t spoiled = table();
    spoiled.enqueue_compare_and_swap = wrong;
    EXPECT_NE(check_all_swaps(spoiled), "");
  }
}

class FaultyKernelCopies
    : public testing::TestWithParam<sluice_result_t (*)(sluice_queue_t *, const sluice_copy_t *, size_t)> {};
INSTANTIATE_TEST_SUITE_P(KernelCopies, FaultyKernelCopies,
                         testing::Values(forget_the_last, write_one_byte_behind, do_nothing));

TEST_P(FaultyKernelCopies, IsNoticed) {
  SKIP_WITHOUT_KERNEL_COPIES();
  sluice_backend_t spoiled = table();
  spoiled.enqueue_kernel_copies = GetParam();
  EXPECT_NE(check_all(spoiled), "");
}

}  // namespace conformance::kernel_copies_test
