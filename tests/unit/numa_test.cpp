// SPDX-License-Identifier: BSD-3-Clause
// Staging memory on the device's node, and ranks that run far from their device. Node 0 is the one that every machine
// has.
#include "device/numa.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "device/staging_pool.hpp"
#include "fake_backend.hpp"

namespace sluice::device::numa_test {
namespace {

using ::testing::HasSubstr;
using tests::FakeBackend;

constexpr std::size_t kBlockBytes = 1U << 20;

// The kernel's rule for the page at `memory`; for this thread when it is null. -1: it does not tell.
int rule_of(const void *memory) {
  int mode = -1;
  const unsigned long flags = memory != nullptr ? MPOL_F_ADDR : 0UL;
  return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, memory, flags) == 0 ? mode : -1;
}

bool are_calls_refused() {
  const PreferredNode preferred(0);
  return rule_of(nullptr) != MPOL_PREFERRED;
}

// A fake whose devices lie at node 0, and which notes under which rule it was asked for memory.
int rule_at_host_alloc = -1;
sluice_result_t (*host_alloc_of_fake)(int32_t, size_t, size_t, void **) = nullptr;
sluice_result_t (*device_info_of_fake)(int32_t, sluice_device_info_t *) = nullptr;

sluice_result_t host_alloc_noting(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  rule_at_host_alloc = rule_of(nullptr);
  return host_alloc_of_fake(device, size_bytes, alignment, memory);
}

sluice_result_t device_info_at_node_0(int32_t device, sluice_device_info_t *info) {
  const sluice_result_t result = device_info_of_fake(device, info);
  if (result == SLUICE_SUCCESS) info->numa_node = 0;
  return result;
}

class Numa : public ::testing::Test {
 protected:
  void SetUp() override {
    if (are_calls_refused())
      GTEST_SKIP() << "the kernel refuses set_mempolicy here (a container without CAP_SYS_NICE?)";
    table_ = fake_.table();
    host_alloc_of_fake = table_.host_alloc;
    device_info_of_fake = table_.device_info;
    table_.host_alloc = host_alloc_noting;
    table_.device_info = device_info_at_node_0;
    Status status;
    backend_ = Backend::over_table(&table_, &status);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }

  FakeBackend fake_;
  sluice_backend_t table_{};
  std::unique_ptr<Backend> backend_;
};

TEST_F(Numa, StagingMemoryOfC_PrefersTheDevicesNode) {
  StagingPool pool(1ULL << 30);
  for (const StagingMemory memory : {StagingMemory::kMalloc, StagingMemory::kAligned}) {
    StagingLease lease;
    ASSERT_TRUE(pool.acquire({backend_.get(), 0, memory}, kBlockBytes, &lease).is_ok());
    EXPECT_EQ(rule_of(lease.data() + kBlockBytes / 2), MPOL_PREFERRED) << name(memory);
    StagingLease small;
    ASSERT_TRUE(pool.acquire({backend_.get(), 0, memory}, 64, &small).is_ok());
    EXPECT_EQ(rule_of(small.data()), MPOL_DEFAULT) << name(memory);
  }
  EXPECT_EQ(rule_of(nullptr), MPOL_DEFAULT);
}

TEST_F(Numa, StagingMemoryOfTheRuntime_IsAllocatedUnderThatRule_AndTheThreadsOwnComesBack) {
  StagingPool pool(1ULL << 30);
  StagingLease lease;
  ASSERT_TRUE(pool.acquire({backend_.get(), 0, StagingMemory::kRuntime}, kBlockBytes, &lease).is_ok());
  EXPECT_EQ(rule_at_host_alloc, MPOL_PREFERRED);
  EXPECT_EQ(rule_of(nullptr), MPOL_DEFAULT);
  const unsigned long node_0 = 1;
  ASSERT_EQ(::syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &node_0, 65UL), 0);
  StagingLease further;
  ASSERT_TRUE(pool.acquire({backend_.get(), 0, StagingMemory::kRuntimeAligned}, kBlockBytes, &further).is_ok());
  EXPECT_EQ(rule_at_host_alloc, MPOL_PREFERRED);
  EXPECT_EQ(rule_of(nullptr), MPOL_INTERLEAVE);
  ASSERT_EQ(::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL), 0);
}

TEST_F(Numa, ForgottenMemory_HasNoNodeAnyMore) {
  void *mapped = ::mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto *memory = static_cast<std::byte *>(mapped);
  // As malloc gives it: not at the beginning of a page.
  prefer_node(memory + 16, kBlockBytes - 16, 0);
  EXPECT_EQ(rule_of(memory), MPOL_DEFAULT);
  EXPECT_EQ(rule_of(memory + 4096), MPOL_PREFERRED);
  forget_node(memory + 16);
  EXPECT_EQ(rule_of(memory + 4096), MPOL_DEFAULT);
  forget_node(memory + 16);  // again, and never told: nothing
  ::munmap(mapped, kBlockBytes);
}

TEST_F(Numa, NodesThatAreNotThere_ChangeNothing) {
  void *mapped = ::mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto *memory = static_cast<std::byte *>(mapped);
  for (const int node : {-1, 1000, 4096}) {
    prefer_node(memory, kBlockBytes, node);
    EXPECT_EQ(rule_of(memory), MPOL_DEFAULT) << node;
    forget_node(memory);
    const PreferredNode preferred(node);
    EXPECT_EQ(rule_of(nullptr), MPOL_DEFAULT) << node;
  }
  ::munmap(mapped, kBlockBytes);
}

// A folder as the kernel has it.
class NodeFolder {
 public:
  explicit NodeFolder(const std::string &list) : folder_(::testing::TempDir() + "nodes_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_ + "/node1");
    std::ofstream(folder_ + "/node1/cpulist") << list << '\n';
  }
  NodeFolder(const NodeFolder &) = delete;
  NodeFolder &operator=(const NodeFolder &) = delete;
  ~NodeFolder() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] const std::string &path() const { return folder_; }

 private:
  std::string folder_;
};

TEST(Distance, IsTold_WhereNoCoreOfTheNodeIsAllowed) {
  EXPECT_THAT(describe_distance(1, NodeFolder("900-931,1020").path()),
              HasSubstr("any core of NUMA node 1 (900-931,1020)"));
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  int first = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(first), &mine)) ++first;
  EXPECT_EQ(describe_distance(1, NodeFolder("900," + std::to_string(first)).path()), "");
  EXPECT_EQ(describe_distance(1, NodeFolder("0-1023").path()), "");
}

TEST(Distance, IsNotTold_WhereNothingIsKnown) {
  EXPECT_EQ(describe_distance(1, NodeFolder("").path()), "");  // memory without cores
  EXPECT_EQ(describe_distance(1, NodeFolder("none").path()), "");
  EXPECT_EQ(describe_distance(2, NodeFolder("900").path()), "");
  EXPECT_EQ(describe_distance(-1), "");
}

}  // namespace
}  // namespace sluice::device::numa_test
