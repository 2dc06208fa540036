// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process that goes away, and what a process holds after many openings and closings.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <sstream>
#include <thread>
#include <vector>

#include "ipc_case.h"
#include "pattern.h"

using conformance::Answer;
using conformance::ask_for;
using conformance::Export;
using conformance::export_here;
using conformance::Holdings;
using conformance::kBytes;
using conformance::Peer;
using conformance::table;
using conformance::text_of;

namespace conformance::ipc_lifetime_test {
namespace {

// What comes and goes in a process that does nothing wrong: a heap that grows, neighbouring mappings that merge.
constexpr long kLooseMappings = 24;

Holdings holdings_of(const Answer &answer) {
  Holdings held;
  std::istringstream(answer.text) >> held.n_descriptors >> held.n_mappings;
  return held;
}

}  // namespace

// Freed memory is not opened, or is as it was; what took its place is never seen.
TEST(Ipc, FreedAllocation_IsRefusedOrOpensWithoutACrash) {
  SKIP_WITHOUT_IPC();
  constexpr size_t kLarge = size_t{8} << 20U;
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  const conformance::Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  int n_refused = 0;
  for (size_t i = 0; i < 10; ++i) {
    ASSERT_EQ(peer.alloc(0, kLarge), "");
    ASSERT_ANSWER(peer.ask(ask_for("fill", 2 * i, 0, kLarge, 1)));
    Export made;
    ASSERT_ANSWER(peer.export_memory(2 * i, 0, &made));
    ASSERT_ANSWER(peer.ask("free" + text_of(2 * i)));
    ASSERT_EQ(peer.alloc(0, kLarge), "");
    ASSERT_ANSWER(peer.ask(ask_for("fill", 2 * i + 1, 0, kLarge, 2)));
    Export newer;
    ASSERT_ANSWER(peer.export_memory(2 * i + 1, 0, &newer));
    EXPECT_NE(std::memcmp(made.handle.bytes, newer.handle.bytes, sizeof made.handle.bytes), 0)
        << "two allocations one after the other have one handle: a cache of handles would take them for one";
    void *base = nullptr;
    uint64_t mapped_bytes = 0;
    if (table().ipc_open(0, &made.handle, &base, &mapped_bytes) != SLUICE_SUCCESS) {
      ++n_refused;
      EXPECT_STRNE(table().last_error(), "");
    } else {
      std::vector<std::byte> bytes(kLarge);
      ASSERT_OK(table().copy(queue.get(), bytes.data(), static_cast<std::byte *>(base) + made.base_offset, kLarge));
      // What is read is not said: a handle whose memory was freed is used by nobody (docs/protocol.md).
      EXPECT_OK(table().ipc_close(0, base));
    }
    ASSERT_ANSWER(peer.ask("free" + text_of(2 * i + 1)));
  }
  std::printf("%d of 10 freed allocations were refused\n", n_refused);
}

TEST(Ipc, ProcessThatHasEnded_IsAnErrorAndNoCrash) {
  SKIP_WITHOUT_IPC();
  Peer peer;
  ASSERT_EQ(peer.problem(), "");
  ASSERT_EQ(peer.alloc(0, kBytes), "");
  Export made;
  ASSERT_ANSWER(peer.export_memory(0, 0, &made));
  EXPECT_EQ(peer.end(), 0);
  void *base = nullptr;
  uint64_t mapped_bytes = 0;
  EXPECT_NE(table().ipc_open(0, &made.handle, &base, &mapped_bytes), SLUICE_SUCCESS);
  EXPECT_STRNE(table().last_error(), "");
}

TEST(Ipc, OpeningAndClosing_HoldsNothing) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, kBytes);
  Export made;
  ASSERT_ANSWER(export_here(memory.data(), &made));
  const std::string cycle = "cycle 0 " + conformance::to_hex(made.handle) + text_of(made.base_offset) + " ";
  const Answer warm = peer.ask(cycle + "100");
  ASSERT_TRUE(warm.is_ok()) << warm.text;
  const Answer done = peer.ask(cycle + "1000");
  ASSERT_TRUE(done.is_ok()) << done.text;
  EXPECT_EQ(holdings_of(done).n_descriptors, holdings_of(warm).n_descriptors);
  EXPECT_NEAR(static_cast<double>(holdings_of(done).n_mappings), static_cast<double>(holdings_of(warm).n_mappings),
              kLooseMappings);
}

TEST(Ipc, ExportingAndFreeing_HoldsNothing) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  const Answer warm = peer.ask("churn 0 200");
  ASSERT_TRUE(warm.is_ok()) << warm.text;
  const Answer done = peer.ask("churn 0 1000");
  ASSERT_TRUE(done.is_ok()) << done.text;
  EXPECT_EQ(holdings_of(done).n_descriptors, holdings_of(warm).n_descriptors);
  EXPECT_NEAR(static_cast<double>(holdings_of(done).n_mappings), static_cast<double>(holdings_of(warm).n_mappings),
              kLooseMappings);
}

TEST(Ipc, Threads_MayOpenOneHandleTogether) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  ASSERT_EQ(peer.alloc(0, kBytes), "");
  ASSERT_ANSWER(peer.ask(ask_for("fill", 0, 0, kBytes, 8)));
  Export made;
  ASSERT_ANSWER(peer.export_memory(0, 0, &made));
  std::vector<std::string> problems(4);
  std::vector<std::thread> threads;
  threads.reserve(problems.size());
  for (std::string &problem : problems) {
    threads.emplace_back([&problem, &made] {
      const conformance::Queue queue(0);
      problem = queue.problem();
      std::vector<std::byte> bytes(5000);
      for (int i = 0; i < 50 && problem.empty(); ++i) {
        void *base = nullptr;
        uint64_t mapped_bytes = 0;
        sluice_result_t result = table().ipc_open(0, &made.handle, &base, &mapped_bytes);
        if (result == SLUICE_SUCCESS) {
          result = table().copy(queue.get(), bytes.data(), static_cast<std::byte *>(base) + made.base_offset, 5000);
        }
        if (result == SLUICE_SUCCESS) result = table().ipc_close(0, base);
        problem = result == SLUICE_SUCCESS ? conformance::pattern_mismatch(bytes, 8) : conformance::describe(result);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const std::string &problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace conformance::ipc_lifetime_test
