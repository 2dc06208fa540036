// SPDX-License-Identifier: BSD-3-Clause
// Queues and tickets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <thread>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"

using conformance::Queue;
using conformance::table;

namespace conformance::tickets_test {
TEST(Tickets, WithNothingBefore_AreDone) {
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (int i = 0; i < 10; ++i) {
    uint64_t ticket = 0;
    ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
    EXPECT_OK(table().wait_ticket(queue.get(), ticket));
    EXPECT_OK(table().test_ticket(queue.get(), ticket));
  }
}

// A ticket that was seen done stays done, and so are all before it; whatever is seen is one of the two answers.
TEST(Tickets, AreDoneInOrder) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kTickets = 24;
  constexpr size_t kBytes = size_t{1} << 20U;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kTickets * kBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  const std::vector<std::byte> bytes = conformance::pattern(kTickets * kBytes, 1);
  std::vector<uint64_t> tickets(kTickets);
  for (size_t i = 0; i < kTickets; ++i) {
    const sluice_copy_t copy{device.data() + i * kBytes, bytes.data() + i * kBytes, kBytes};
    ASSERT_OK(table().enqueue_copies(queue.get(), &copy, 1));
    ASSERT_OK(table().enqueue_ticket(queue.get(), &tickets[i]));
  }
  std::vector<bool> was_done(kTickets, false);
  while (!was_done.back()) {
    bool is_done_later = false;
    for (size_t i = kTickets; i-- > 0;) {
      const sluice_result_t result = table().test_ticket(queue.get(), tickets[i]);
      ASSERT_TRUE(result == SLUICE_SUCCESS || result == SLUICE_NOT_READY) << conformance::describe(result);
      const bool is_done = result == SLUICE_SUCCESS;
      ASSERT_TRUE(is_done || !was_done[i]) << "ticket " << i << " was done and is no more";
      ASSERT_TRUE(is_done || !is_done_later) << "ticket " << i << " comes after a later one";
      is_done_later = is_done_later || is_done;
      was_done[i] = is_done;
    }
    std::this_thread::yield();
  }
  std::vector<std::byte> after;
  ASSERT_EQ(device.read(&after), "");
  EXPECT_EQ(conformance::pattern_mismatch(after, 1), "");
}

// Tickets with nothing between them, and with a copy behind them: the older ones never wait for more than the newer.
TEST(Tickets, InARow_AreDoneWithWhatIsBeforeThem) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kBytes = size_t{1} << 20U;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, 2 * kBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (uint64_t iteration = 0; iteration < 20; ++iteration) {
    const std::vector<std::byte> bytes = conformance::pattern(2 * kBytes, iteration);
    const sluice_copy_t first{device.data(), bytes.data(), kBytes};
    const sluice_copy_t second{device.data() + kBytes, bytes.data() + kBytes, kBytes};
    std::array<uint64_t, 3> tickets{};
    ASSERT_OK(table().enqueue_copies(queue.get(), &first, 1));
    ASSERT_OK(table().enqueue_ticket(queue.get(), &tickets[0]));
    ASSERT_OK(table().enqueue_ticket(queue.get(), &tickets[1]));
    ASSERT_OK(table().enqueue_copies(queue.get(), &second, 1));
    ASSERT_OK(table().enqueue_ticket(queue.get(), &tickets[2]));
    for (const uint64_t ticket : tickets) {
      sluice_result_t result = SLUICE_NOT_READY;
      while ((result = table().test_ticket(queue.get(), ticket)) == SLUICE_NOT_READY) std::this_thread::yield();
      ASSERT_OK(result);
    }
    ASSERT_OK(table().wait_ticket(queue.get(), tickets[0]));
    std::vector<std::byte> after;
    ASSERT_EQ(device.read(&after), "");
    ASSERT_EQ(conformance::pattern_mismatch(after, iteration), "");
  }
}

// Data is visible to the CPU as soon as test_ticket says so, with no call in between.
TEST(Tickets, Done_MeansTheDataIsThere) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kBytes = 300001;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(pinned, SLUICE_MEMORY_PINNED, 0, kBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (uint64_t iteration = 0; iteration < 20; ++iteration) {
    ASSERT_EQ(device.write(conformance::pattern(kBytes, iteration)), "");
    const sluice_copy_t copy{pinned.data(), device.data(), kBytes};
    uint64_t ticket = 0;
    ASSERT_OK(table().enqueue_copies(queue.get(), &copy, 1));
    ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
    sluice_result_t result = SLUICE_NOT_READY;
    while ((result = table().test_ticket(queue.get(), ticket)) == SLUICE_NOT_READY) std::this_thread::yield();
    ASSERT_OK(result);
    ASSERT_EQ(conformance::pattern_mismatch(std::span(pinned.data(), kBytes), iteration), "");
  }
}

// "Visible to every later command of any queue": a second queue takes over where the first ended.
TEST(Tickets, Done_LetsAnotherQueueGoOn) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kBytes = 200003;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  const Queue one(0);
  const Queue other(0);
  ASSERT_EQ(one.problem() + other.problem(), "");
  for (uint64_t iteration = 0; iteration < 20; ++iteration) {
    const std::vector<std::byte> bytes = conformance::pattern(kBytes, iteration);
    std::vector<std::byte> back(kBytes);
    const sluice_copy_t up{device.data(), bytes.data(), kBytes};
    uint64_t ticket = 0;
    ASSERT_OK(table().enqueue_copies(one.get(), &up, 1));
    ASSERT_OK(table().enqueue_ticket(one.get(), &ticket));
    ASSERT_OK(table().wait_ticket(one.get(), ticket));
    ASSERT_OK(table().copy(other.get(), back.data(), device.data(), kBytes));
    ASSERT_EQ(conformance::pattern_mismatch(back, iteration), "");
  }
}

TEST(Tickets, QueueDestroy_WaitsForWhatIsQueued) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr size_t kBytes = size_t{4} << 20U;
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  for (uint64_t iteration = 0; iteration < 5; ++iteration) {
    const std::vector<std::byte> bytes = conformance::pattern(kBytes, iteration);
    sluice_queue_t *queue = nullptr;
    ASSERT_OK(table().queue_create(0, &queue));
    const sluice_copy_t up{device.data(), bytes.data(), kBytes};
    ASSERT_OK(table().enqueue_copies(queue, &up, 1));
    ASSERT_OK(table().queue_destroy(queue));
    std::vector<std::byte> after;
    ASSERT_EQ(device.read(&after), "");
    ASSERT_EQ(conformance::pattern_mismatch(after, iteration), "");
  }
}

TEST(Tickets, ManyQueues_ComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    sluice_queue_t *queue = nullptr;
    ASSERT_OK(table().queue_create(i % table().device_count(), &queue));
    uint64_t ticket = 0;
    ASSERT_OK(table().enqueue_ticket(queue, &ticket));
    ASSERT_OK(table().queue_destroy(queue));
  }
}

}  // namespace conformance::tickets_test
