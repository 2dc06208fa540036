// SPDX-License-Identifier: BSD-3-Clause
// Several threads, queues and devices at once.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"

using conformance::Memory;
using conformance::Queue;
using conformance::table;

namespace conformance::threads_test {
namespace {

constexpr size_t kBytes = 150007;

std::string said(sluice_result_t result) {
  return result == SLUICE_SUCCESS ? "" : conformance::describe(result);
}

// Up, across, down, with patterns that no other thread uses; "" or what went wrong.
std::string work(int thread, int32_t device) {
  Memory first;
  Memory second;
  std::string problem = Memory::make(SLUICE_MEMORY_DEVICE, device, kBytes, &first);
  if (problem.empty()) problem = Memory::make(SLUICE_MEMORY_DEVICE, device, kBytes, &second);
  const Queue queue(device);
  if (problem.empty()) problem = queue.problem();
  for (uint64_t i = 0; i < 40 && problem.empty(); ++i) {
    const uint64_t iteration = static_cast<uint64_t>(thread) * 1000 + i;
    const std::vector<std::byte> bytes = conformance::pattern(kBytes, iteration);
    std::vector<std::byte> back(kBytes);
    const sluice_copy_t up{first.data(), bytes.data(), kBytes};
    const sluice_copy_t across{second.data(), first.data(), kBytes};
    uint64_t ticket = 0;
    problem = said(table().enqueue_copies(queue.get(), &up, 1));
    if (problem.empty()) problem = said(table().enqueue_copies(queue.get(), &across, 1));
    if (problem.empty()) problem = said(table().enqueue_ticket(queue.get(), &ticket));
    if (problem.empty()) problem = said(table().wait_ticket(queue.get(), ticket));
    if (problem.empty()) problem = said(table().copy(queue.get(), back.data(), second.data(), kBytes));
    if (problem.empty()) problem = conformance::pattern_mismatch(back, iteration);
  }
  return problem;
}

}  // namespace

TEST(Threads, WithQueuesOfTheirOwn_DoNotDisturbEachOther) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr int kThreads = 6;
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&problems, t] {
      problems[static_cast<size_t>(t)] = work(t, static_cast<int32_t>(t) % table().device_count());
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const std::string &problem : problems) EXPECT_EQ(problem, "");
}

// A queue goes from thread to thread; one at a time uses it.
TEST(Threads, OneQueue_MayBeHandedOn) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  MAKE_MEMORY_OR_SKIP(device, SLUICE_MEMORY_DEVICE, 0, kBytes);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (uint64_t iteration = 0; iteration < 6; ++iteration) {
    const std::vector<std::byte> bytes = conformance::pattern(kBytes, iteration);
    const sluice_copy_t up{device.data(), bytes.data(), kBytes};
    uint64_t ticket = 0;
    std::string problem;
    std::thread([&] {
      problem = said(table().enqueue_copies(queue.get(), &up, 1));
      if (problem.empty()) problem = said(table().enqueue_ticket(queue.get(), &ticket));
    }).join();
    ASSERT_EQ(problem, "");
    std::thread([&] { problem = said(table().wait_ticket(queue.get(), ticket)); }).join();
    ASSERT_EQ(problem, "");
    std::vector<std::byte> back(kBytes);
    ASSERT_OK(table().copy(queue.get(), back.data(), device.data(), kBytes));
    ASSERT_EQ(conformance::pattern_mismatch(back, iteration), "");
  }
}

TEST(Threads, Staging_IsTakenAndGivenBackByAll) {
  std::vector<std::string> problems(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < problems.size(); ++t) {
    threads.emplace_back([&problem = problems[t]] {
      for (int i = 0; i < 50 && problem.empty(); ++i) {
        void *memory = nullptr;
        problem = said(table().host_alloc(0, 10000, 4096, &memory));
        if (problem.empty()) problem = said(table().host_free(0, memory));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const std::string &problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace conformance::threads_test
