// SPDX-License-Identifier: BSD-3-Clause
// enqueue_wait_for_queue: one queue behind another, seen by what its copies find.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"

using conformance::Memory;
using conformance::Queue;
using conformance::table;

namespace conformance::queue_order_test {
namespace {

constexpr size_t kBytes = (size_t{4} << 20U) + 3;
constexpr size_t kLegs = 6;

// Brings a pattern through memories of the device, each leg by the other of two queues, with nobody waiting in between,
// and looks at what came out. "" or what is wrong.
std::string check(const sluice_backend_t &backend, uint64_t iteration) {
  Memory from;
  Memory to;
  std::vector<Memory> between(kLegs - 1);
  // They end first, when all that was enqueued has.
  const Queue first(0);
  const Queue second(0);
  std::string problem = first.problem() + second.problem();
  if (problem.empty()) problem = Memory::make(SLUICE_MEMORY_PINNED, 0, kBytes, &from);
  if (problem.empty()) problem = Memory::make(SLUICE_MEMORY_PINNED, 0, kBytes, &to);
  const std::vector<std::byte> poison(kBytes, std::byte{0xA5});
  for (Memory &memory : between) {
    if (problem.empty()) problem = Memory::make(SLUICE_MEMORY_DEVICE, 0, kBytes, &memory);
    if (problem.empty()) problem = memory.write(poison);
  }
  if (problem.empty()) problem = from.write(conformance::pattern(kBytes, iteration));
  if (problem.empty()) problem = to.write(poison);
  if (!problem.empty()) return problem;
  sluice_queue_t *const queues[] = {first.get(), second.get()};
  sluice_result_t result = SLUICE_SUCCESS;
  for (size_t leg = 0; leg < kLegs && result == SLUICE_SUCCESS; ++leg) {
    const Memory &src = leg == 0 ? from : between[leg - 1];
    const Memory &dst = leg + 1 == kLegs ? to : between[leg];
    const sluice_copy_t copy = {dst.data(), src.data(), kBytes};
    if (leg > 0) result = backend.enqueue_wait_for_queue(queues[leg % 2], queues[(leg - 1) % 2]);
    if (result == SLUICE_SUCCESS) result = backend.enqueue_copies(queues[leg % 2], &copy, 1);
  }
  result = await(backend, queues[(kLegs - 1) % 2], result);
  if (result != SLUICE_SUCCESS) return conformance::describe(result);
  std::vector<std::byte> after;
  if (problem = to.read(&after); !problem.empty()) return problem;
  return conformance::pattern_mismatch(after, iteration);
}

sluice_result_t do_not_wait(sluice_queue_t * /*queue*/, sluice_queue_t * /*other*/) {
  return SLUICE_SUCCESS;
}

sluice_result_t wait_the_other_way(sluice_queue_t *queue, sluice_queue_t *other) {
  return table().enqueue_wait_for_queue(other, queue);
}

}  // namespace

#define SKIP_WITHOUT_QUEUE_ORDER()                       \
  do {                                                   \
    SKIP_WITHOUT_PROGRAM_GROUP();                        \
    if (table().enqueue_wait_for_queue == nullptr) {     \
      GTEST_SKIP() << "missing: enqueue_wait_for_queue"; \
    }                                                    \
  } while (false)

TEST(QueueOrder, IsKept) {
  SKIP_WITHOUT_QUEUE_ORDER();
  for (uint64_t iteration = 1; iteration <= 10; ++iteration) ASSERT_EQ(check(table(), iteration), "") << iteration;
}

// A queue behind itself, behind one that has nothing to do, and behind one that is destroyed before it is waited for.
TEST(QueueOrder, NeedsNothingToWaitFor) {
  SKIP_WITHOUT_QUEUE_ORDER();
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_PINNED, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(middle, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(to, SLUICE_MEMORY_PINNED, 0, kBytes);
  ASSERT_EQ(from.write(conformance::pattern(kBytes, 7)), "");
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  ASSERT_OK(table().enqueue_wait_for_queue(queue.get(), queue.get()));
  {
    const Queue other(0);
    ASSERT_EQ(other.problem(), "");
    ASSERT_OK(table().enqueue_wait_for_queue(queue.get(), other.get()));
    const sluice_copy_t up = {middle.data(), from.data(), kBytes};
    ASSERT_OK(table().enqueue_copies(other.get(), &up, 1));
    ASSERT_OK(table().enqueue_wait_for_queue(queue.get(), other.get()));
  }
  const sluice_copy_t down = {to.data(), middle.data(), kBytes};
  ASSERT_OK(table().enqueue_copies(queue.get(), &down, 1));
  ASSERT_OK(table().enqueue_wait_for_queue(queue.get(), queue.get()));
  uint64_t ticket = 0;
  ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
  ASSERT_OK(table().wait_ticket(queue.get(), ticket));
  std::vector<std::byte> after;
  ASSERT_EQ(to.read(&after), "");
  EXPECT_EQ(conformance::pattern_mismatch(after, 7), "");
}

// A ticket behind a wait is not done before what is waited for is, and a short copy is not made ahead of it.
TEST(QueueOrder, HoldsForTicketsAndForBlockingCopies) {
  SKIP_WITHOUT_QUEUE_ORDER();
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_PINNED, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(middle, SLUICE_MEMORY_DEVICE, 0, kBytes);
  const Queue queue(0);
  const Queue other(0);
  ASSERT_EQ(queue.problem() + other.problem(), "");
  const sluice_copy_t up = {middle.data(), from.data(), kBytes};
  for (uint64_t iteration = 1; iteration <= 10; ++iteration) {
    const std::vector<std::byte> content = conformance::pattern(kBytes, iteration);
    ASSERT_EQ(from.write(content), "");
    ASSERT_OK(table().enqueue_copies(other.get(), &up, 1));
    ASSERT_OK(table().enqueue_wait_for_queue(queue.get(), other.get()));
    if (iteration % 2 == 0) {
      uint64_t ticket = 0;
      ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
      sluice_result_t result = SLUICE_NOT_READY;
      while ((result = table().test_ticket(queue.get(), ticket)) == SLUICE_NOT_READY) {
      }
      ASSERT_OK(result);
      std::vector<std::byte> after;
      ASSERT_EQ(middle.read(&after), "");
      ASSERT_EQ(conformance::pattern_mismatch(after, iteration), "");
    } else {
      std::byte last{0xA5};
      ASSERT_OK(table().copy(queue.get(), &last, middle.data() + kBytes - 1, 1));
      ASSERT_EQ(last, content.back()) << iteration;
    }
  }
}

class FaultyQueueOrder : public testing::TestWithParam<sluice_result_t (*)(sluice_queue_t *, sluice_queue_t *)> {};
INSTANTIATE_TEST_SUITE_P(QueueOrder, FaultyQueueOrder, testing::Values(do_not_wait, wait_the_other_way));

// Two queues that nobody orders may by chance run in order: one round in many that does not is enough.
TEST_P(FaultyQueueOrder, IsNoticed) {
  SKIP_WITHOUT_QUEUE_ORDER();
  sluice_backend_t spoiled = table();
  spoiled.enqueue_wait_for_queue = GetParam();
  std::string noticed;
  for (uint64_t iteration = 1; iteration <= 1000 && noticed.empty(); ++iteration) noticed = check(spoiled, iteration);
  EXPECT_NE(noticed, "");
}

}  // namespace conformance::queue_order_test
