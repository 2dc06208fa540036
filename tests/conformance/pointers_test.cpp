// SPDX-License-Identifier: BSD-3-Clause
// What query_pointer answers, at any moment.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "memory.h"
#include "module_under_test.h"

using conformance::Memory;
using conformance::table;

namespace conformance::pointers_test {
namespace {

char g_static_byte = 1;

sluice_pointer_info_t query(const void *address) {
  sluice_pointer_info_t info{SLUICE_MEMORY_FREED, 12345, 12345};
  EXPECT_OK(table().query_pointer(address, &info));
  return info;
}

void expect_host(const void *address, const char *what) {
  const sluice_pointer_info_t info = query(address);
  EXPECT_EQ(info.kind, SLUICE_MEMORY_HOST) << what;
  EXPECT_EQ(info.device, -1) << what;
}

void expect_kind(const Memory &memory, sluice_memory_kind_t kind) {
  const size_t size = memory.size_bytes();
  const sluice_pointer_info_t first = query(memory.data());
  for (const size_t offset : {size_t{0}, size_t{1} % size, size / 3, (size / 2 + 1) % size, size - 1}) {
    const sluice_pointer_info_t info = query(memory.data() + offset);
    EXPECT_EQ(info.kind, kind) << conformance::kind_name(info.kind) << " at offset " << offset << " of "
                               << conformance::kind_name(kind);
    EXPECT_EQ(info.allocation_id, first.allocation_id) << "offset " << offset;
    EXPECT_EQ(info.device, first.device) << "offset " << offset;
  }
}

}  // namespace

TEST(Pointers, HostMemory_IsHost) {
  char on_stack = 0;
  const std::vector<char> on_heap(3);
  const std::vector<char> large_heap(32U << 20U);
  expect_host(&on_stack, "stack");
  expect_host(on_heap.data(), "heap");
  expect_host(large_heap.data() + 12345, "large heap");
  expect_host(&g_static_byte, "static");
  expect_host("constant", "constant");
  expect_host(reinterpret_cast<const void *>(&expect_host), "code");
}

TEST(Pointers, MappedHostMemory_IsHost) {
  void *mapped = mmap(nullptr, 1U << 20U, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  expect_host(static_cast<char *>(mapped) + 777, "mmap");
  munmap(mapped, 1U << 20U);
  expect_host(mapped, "unmapped again");
}

TEST(Pointers, AddressesThatAreNone_AreHostAndNoError) {
  expect_host(nullptr, "null");
  expect_host(reinterpret_cast<const void *>(uintptr_t{1}), "1");
  expect_host(reinterpret_cast<const void *>(~uintptr_t{0}), "last");
}

class OfKind : public testing::TestWithParam<sluice_memory_kind_t> {};
INSTANTIATE_TEST_SUITE_P(Pointers, OfKind,
                         testing::Values(SLUICE_MEMORY_PINNED, SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_SHARED),
                         [](const auto &of) { return conformance::kind_name(of.param); });

TEST_P(OfKind, Query_KnowsFirstInteriorAndLastByte) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  for (const size_t size : {size_t{1}, size_t{17}, size_t{4097}, size_t{1} << 20U}) {
    MAKE_MEMORY_OR_SKIP(memory, GetParam(), 0, size);
    expect_kind(memory, GetParam());
  }
}

TEST_P(OfKind, Query_NamesTheDeviceThatOwnsIt) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  for (int32_t device = 0; device < table().device_count(); ++device) {
    MAKE_MEMORY_OR_SKIP(memory, GetParam(), device, 4096);
    const sluice_pointer_info_t info = query(memory.data() + 100);
    if (GetParam() == SLUICE_MEMORY_DEVICE) {
      EXPECT_EQ(info.device, device);
    } else {
      EXPECT_TRUE(info.device == device || info.device == -1) << info.device;
    }
  }
  EXPECT_OK(table().program_set_device(0));
}

TEST_P(OfKind, Ids_DifferBetweenLiveAllocations) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  MAKE_MEMORY_OR_SKIP(one, GetParam(), 0, 5000);
  MAKE_MEMORY_OR_SKIP(other, GetParam(), 0, 5000);
  const sluice_pointer_info_t first = query(one.data());
  const sluice_pointer_info_t second = query(other.data());
  if (first.allocation_id == 0) GTEST_SKIP() << "missing: allocation ids, which this runtime does not have";
  EXPECT_NE(first.allocation_id, second.allocation_id);
}

// Unless the runtime keeps it for its next allocation, which is then served out of it.
TEST_P(OfKind, FreedMemory_IsNoLongerThatKind) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  MAKE_MEMORY_OR_SKIP(memory, GetParam(), 0, 1U << 20U);
  const std::byte *const begin = memory.data();
  const std::byte *address = begin + 4321;
  ASSERT_EQ(query(address).kind, GetParam());
  ASSERT_EQ(memory.reset(), "");
  const sluice_memory_kind_t kind = query(address).kind;
  if (kind == SLUICE_MEMORY_HOST || kind == SLUICE_MEMORY_FREED) return;
  EXPECT_EQ(kind, GetParam()) << conformance::kind_name(kind);
  MAKE_MEMORY_OR_SKIP(next, GetParam(), 0, 1U << 20U);
  EXPECT_EQ(next.data(), begin) << conformance::kind_name(kind) << ", and not kept for the next allocation";
}

TEST(Pointers, AddressUsedAgain_IsAnsweredAsItIsNow) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr sluice_memory_kind_t kKinds[] = {SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_PINNED,
                                             SLUICE_MEMORY_SHARED};
  std::map<const std::byte *, uint64_t> id_before;
  int n_again = 0;
  for (int i = 0; i < 200; ++i) {
    const sluice_memory_kind_t kind = kKinds[i % 4];
    Memory memory;
    const std::string why = Memory::make(kind, 0, 1U << 16U, &memory);
    if (why.starts_with("SLUICE_ERROR_UNSUPPORTED")) continue;
    ASSERT_EQ(why, "") << "iteration " << i;
    const sluice_pointer_info_t info = query(memory.data() + 99);
    ASSERT_EQ(info.kind, kind) << "iteration " << i << " of " << conformance::kind_name(kind);
    const auto before = id_before.find(memory.data());
    if (before != id_before.end()) {
      ++n_again;
      if (info.allocation_id != 0) {
        EXPECT_NE(info.allocation_id, before->second) << "iteration " << i;
      }
    }
    id_before[memory.data()] = info.allocation_id;
  }
  std::printf("%d of 200 allocations came at an address that was used before\n", n_again);
}

TEST(Pointers, Query_IsExact_WhileOtherThreadsAllocateAndFree) {
  SKIP_WITHOUT_PROGRAM_GROUP();
  constexpr int kThreads = 4;
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&problem = problems[static_cast<size_t>(t)], t] {
      const std::vector<char> host(4096);
      for (int i = 0; i < 100 && problem.empty(); ++i) {
        Memory memory;
        const sluice_memory_kind_t kind = (i + t) % 2 == 0 ? SLUICE_MEMORY_DEVICE : SLUICE_MEMORY_PINNED;
        problem = Memory::make(kind, 0, 4096U * static_cast<size_t>(1 + i % 7), &memory);
        if (!problem.empty()) break;
        sluice_pointer_info_t info{};
        for (int repeat = 0; repeat < 20; ++repeat) {
          if (table().query_pointer(memory.data() + 7, &info) != SLUICE_SUCCESS || info.kind != kind) {
            problem = "live memory was answered otherwise";
          }
          if (table().query_pointer(host.data() + 9, &info) != SLUICE_SUCCESS || info.kind != SLUICE_MEMORY_HOST) {
            problem = "host memory was answered otherwise";
          }
        }
        const std::byte *address = memory.data();
        if (problem.empty()) problem = memory.reset();
        // Another thread may have the address by now, but not as what this one gave back before its own query.
        if (table().query_pointer(address, &info) != SLUICE_SUCCESS) problem = "query of freed memory failed";
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const std::string &problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace conformance::pointers_test
