// SPDX-License-Identifier: BSD-3-Clause
// The staging pool: blocks are used again, bounded, given back; every staging memory; a runtime that refuses.
#include "device/staging_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/statistics.hpp"
#include "fake_backend.hpp"
#include "fake_device.hpp"

namespace sluice::device::staging_pool_test {
namespace {

using ::testing::HasSubstr;
using tests::Call;
using tests::FakeBackend;

constexpr std::uint64_t kPlenty = 1ULL << 30;

std::uint64_t fallbacks() {
  return nlohmann::json::parse(statistics::to_json(0))["fallbacks"].value("pool_exhausted", 0ULL);
}

class Pool : public ::testing::Test {
 protected:
  Pool() : backend_(Backend::over_table(&fake_.table(), &status_)) { statistics::reset(); }
  ~Pool() override {
    EXPECT_EQ(fake_.live_host_blocks(), 0);
    EXPECT_EQ(fake_.misuse(), "");
  }

  [[nodiscard]] StagingSource source(StagingMemory memory, std::int32_t device = 0) const {
    return {backend_.get(), device, memory};
  }
  // A block whose every byte can be written.
  static StagingLease acquire(StagingPool *pool, const StagingSource &source, std::size_t size_bytes) {
    StagingLease lease;
    const Status status = pool->acquire(source, size_bytes, &lease);
    EXPECT_TRUE(status.is_ok()) << status.message();
    EXPECT_FALSE(lease.is_empty());
    if (!lease.is_empty()) std::memset(lease.data(), 0x5a, size_bytes);
    return lease;
  }

  // The warning about the first fallback of a process stands for all; the tests that run one ask whether it is theirs.
  static bool is_first_fallback() {
    static bool is_first = true;
    return std::exchange(is_first, false);
  }

  FakeBackend fake_;
  Status status_;
  std::unique_ptr<Backend> backend_;
};

TEST_F(Pool, GivesEveryStagingMemory) {
  StagingPool pool(kPlenty);
  for (const StagingMemory memory :
       {StagingMemory::kMalloc, StagingMemory::kAligned, StagingMemory::kRuntime, StagingMemory::kRuntimeAligned}) {
    const bool is_aligned = memory == StagingMemory::kAligned || memory == StagingMemory::kRuntimeAligned;
    const bool is_runtime = memory == StagingMemory::kRuntime || memory == StagingMemory::kRuntimeAligned;
    const int before = fake_.calls(Call::kHostAlloc);
    for (const std::size_t size : {1U, 100U, 4096U, 4097U, 100000U}) {
      const StagingLease lease = acquire(&pool, source(memory), size);
      const auto address = reinterpret_cast<std::uintptr_t>(lease.data());
      EXPECT_TRUE(!is_aligned || address % kStagingAlignment == 0) << name(memory);
    }
    EXPECT_EQ(fake_.calls(Call::kHostAlloc) > before, is_runtime) << name(memory);
    if (is_runtime) {
      EXPECT_EQ(fake_.last_alignment(), is_aligned ? kStagingAlignment : 0U);
    }
  }
  EXPECT_EQ(fallbacks(), 0U);
}

TEST_F(Pool, UsesABlockAgain) {
  StagingPool pool(kPlenty);
  const std::byte *first = acquire(&pool, source(StagingMemory::kRuntime), 5000).data();
  for (const std::size_t size : {5000U, 4097U, 8192U}) {
    EXPECT_EQ(acquire(&pool, source(StagingMemory::kRuntime), size).data(), first) << size;
  }
  EXPECT_EQ(fake_.calls(Call::kHostAlloc), 1);
  EXPECT_EQ(pool.held_bytes(), 8192U);
}

TEST_F(Pool, SharesABlock_OnlyWithinItsSizeClass) {
  StagingPool pool(kPlenty);
  std::uint64_t held = 0;
  std::set<const std::byte *> blocks;
  for (const std::size_t block : {4096UL, 8192UL, 16384UL, 1UL << 20}) {
    const std::size_t least = block == 4096 ? 1 : block / 2 + 1;
    const std::byte *address = acquire(&pool, source(StagingMemory::kRuntime), least).data();
    EXPECT_TRUE(blocks.insert(address).second);
    held += block;
    EXPECT_EQ(pool.held_bytes(), held);
    EXPECT_EQ(acquire(&pool, source(StagingMemory::kRuntime), block).data(), address);
    EXPECT_EQ(pool.held_bytes(), held);
  }
}

TEST_F(Pool, KeepsSourcesApart) {
  FakeBackend other(1);
  Status status;
  const std::unique_ptr<Backend> other_backend = Backend::over_table(&other.table(), &status);
  StagingPool pool(kPlenty);
  std::set<const std::byte *> blocks;
  const std::vector<StagingSource> sources = {
      source(StagingMemory::kMalloc),     source(StagingMemory::kAligned),
      source(StagingMemory::kRuntime),    source(StagingMemory::kRuntimeAligned),
      source(StagingMemory::kRuntime, 1), {other_backend.get(), 0, StagingMemory::kRuntime}};
  for (const StagingSource &each : sources) blocks.insert(acquire(&pool, each, 4096).data());
  EXPECT_EQ(blocks.size(), sources.size());
  for (const StagingSource &each : sources) EXPECT_TRUE(blocks.contains(acquire(&pool, each, 4096).data()));
  EXPECT_EQ(pool.held_bytes(), 4096 * sources.size());
  EXPECT_EQ(other.live_host_blocks(), 1);
  pool.trim();
  EXPECT_EQ(other.live_host_blocks(), 0);
}

TEST_F(Pool, NeverLeasesABlockTwice) {
  StagingPool pool(kPlenty);
  std::set<const std::byte *> blocks;
  std::vector<StagingLease> leases;
  for (int i = 0; i < 20; ++i) {
    leases.push_back(acquire(&pool, source(StagingMemory::kRuntime), 4096));
    EXPECT_TRUE(blocks.insert(leases.back().data()).second);
  }
  leases.clear();
  EXPECT_EQ(fake_.live_host_blocks(), 20) << "kept for the next";
}

TEST_F(Pool, MovesALease) {
  StagingPool pool(kPlenty);
  StagingLease a = acquire(&pool, source(StagingMemory::kRuntime), 4096);
  const std::byte *block = a.data();
  StagingLease b(std::move(a));
  EXPECT_TRUE(a.is_empty());  // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
  EXPECT_EQ(b.data(), block);
  StagingLease c = acquire(&pool, source(StagingMemory::kRuntime), 4096);
  const std::byte *other = c.data();
  c = std::move(b);
  EXPECT_EQ(c.data(), block);
  b = StagingLease();
  c = StagingLease();
  // Both are idle again, and each only once.
  const StagingLease d = acquire(&pool, source(StagingMemory::kRuntime), 4096);
  const StagingLease e = acquire(&pool, source(StagingMemory::kRuntime), 4096);
  EXPECT_EQ((std::set<const std::byte *>{d.data(), e.data()}), (std::set<const std::byte *>{block, other}));
  EXPECT_EQ(fake_.live_host_blocks(), 2);
}

TEST_F(Pool, GivesIdleBlocksBack_WhenTheLimitIsReached) {
  StagingPool pool(64 * 1024);
  for (int i = 0; i < 3; ++i) acquire(&pool, source(StagingMemory::kRuntime), std::size_t{4096} << i);
  EXPECT_EQ(pool.held_bytes(), 28U * 1024);
  const StagingLease large = acquire(&pool, source(StagingMemory::kMalloc), 60 * 1024);
  EXPECT_EQ(pool.held_bytes(), 64U * 1024);
  EXPECT_EQ(fake_.live_host_blocks(), 0) << "the idle blocks made room";
  EXPECT_EQ(fallbacks(), 0U);
}

TEST_F(Pool, SparesHalfOfItself_AndWhatIsIdle) {
  StagingPool pool(64 * 1024);
  const StagingSource from = source(StagingMemory::kRuntime);
  StagingLease first;
  pool.acquire_spare(from, 32 * 1024, &first);
  ASSERT_FALSE(first.is_empty());
  StagingLease second;
  pool.acquire_spare(from, 4096, &second);
  EXPECT_TRUE(second.is_empty());
  EXPECT_EQ(pool.held_bytes(), 32U * 1024);
  acquire(&pool, from, 16 * 1024);  // idle now
  pool.acquire_spare(from, 16 * 1024, &second);
  EXPECT_FALSE(second.is_empty());
  fake_.fail(Call::kHostAlloc, SLUICE_ERROR_OUT_OF_MEMORY, "FAKE_NO_PINNED_MEMORY");
  StagingPool other(64 * 1024);
  pool.acquire_spare(from, std::size_t{1} << 60, &second);
  EXPECT_TRUE(second.is_empty());
  other.acquire_spare(from, 4096, &second);
  EXPECT_TRUE(second.is_empty());
  EXPECT_EQ(other.held_bytes(), 0U);
  EXPECT_EQ(fallbacks(), 0U);
}

TEST_F(Pool, FallsBackToCMemory_WhenEverythingIsLeased) {
  StagingPool pool(16 * 1024);
  const StagingLease held = acquire(&pool, source(StagingMemory::kRuntime), 16 * 1024);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) {
    const StagingLease lease = acquire(&pool, source(StagingMemory::kRuntime), 5000);
    EXPECT_NE(lease.data(), held.data());
    EXPECT_EQ(pool.held_bytes(), 16U * 1024);
    EXPECT_EQ(fake_.live_host_blocks(), 1);
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  const bool is_first = is_first_fallback();
  EXPECT_EQ(text.find("device_pool_bytes") != std::string::npos, is_first);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), is_first ? 1 : 0) << "warned once: " << text;
  EXPECT_EQ(fallbacks(), 5U);
}

TEST_F(Pool, HoldsNothing_WhenTheLimitIsZero) {
  StagingPool pool(0);
  for (const StagingMemory memory : {StagingMemory::kMalloc, StagingMemory::kRuntimeAligned}) {
    const StagingLease lease = acquire(&pool, source(memory), 1);
    EXPECT_EQ(pool.held_bytes(), 0U);
  }
  is_first_fallback();
  EXPECT_EQ(fake_.calls(Call::kHostAlloc), 0);
  EXPECT_EQ(fallbacks(), 2U);
}

TEST_F(Pool, FallsBackToCMemory_WhenTheRuntimeRefuses) {
  StagingPool pool(kPlenty);
  fake_.fail(Call::kHostAlloc, SLUICE_ERROR_OUT_OF_MEMORY, "FAKE_NO_PINNED_MEMORY", 2);
  ::testing::internal::CaptureStderr();
  {
    const StagingLease a = acquire(&pool, source(StagingMemory::kRuntime), 9000);
    const StagingLease b = acquire(&pool, source(StagingMemory::kRuntime), 9000);
    EXPECT_EQ(pool.held_bytes(), 0U);
    EXPECT_EQ(fake_.live_host_blocks(), 0);
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("FAKE_NO_PINNED_MEMORY") != std::string::npos, is_first_fallback()) << text;
  EXPECT_EQ(fallbacks(), 2U);
  acquire(&pool, source(StagingMemory::kRuntime), 9000);
  EXPECT_EQ(pool.held_bytes(), 16384U) << "pooled again when the runtime is well";
}

TEST_F(Pool, Fails_WhenTheSizeCannotBe) {
  StagingPool pool(kPlenty);
  for (const std::size_t size : {std::size_t{1} << 60, ~std::size_t{0}, std::size_t{1} << 47}) {
    StagingLease lease;
    const Status status = pool.acquire(source(StagingMemory::kMalloc), size, &lease);
    EXPECT_EQ(status.kind(), ErrorKind::kOutOfMemory) << size;
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(size)));
    EXPECT_TRUE(lease.is_empty());
  }
  EXPECT_EQ(pool.held_bytes(), 0U);
}

TEST_F(Pool, Trims_WhatIsIdle) {
  StagingPool pool(kPlenty);
  const StagingLease held = acquire(&pool, source(StagingMemory::kRuntime), 4096);
  acquire(&pool, source(StagingMemory::kRuntime), 4096);
  acquire(&pool, source(StagingMemory::kRuntimeAligned), 100000);
  acquire(&pool, source(StagingMemory::kMalloc), 100000);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 4096U);
  EXPECT_EQ(fake_.live_host_blocks(), 1);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 4096U);
}

TEST_F(Pool, Warns_WhenABlockCannotBeGivenBack) {
  StagingPool pool(kPlenty);
  acquire(&pool, source(StagingMemory::kRuntime), 4096);
  fake_.fail(Call::kHostFree, SLUICE_ERROR_NATIVE, "FAKE_STUCK");
  ::testing::internal::CaptureStderr();
  pool.trim();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("FAKE_STUCK"));
  EXPECT_EQ(pool.held_bytes(), 0U);
}

// Eight threads, a thousand times each; every block is written whole, so that one leased twice is noticed. What the
// pool holds after each round stays within what that many threads can hold at once.
TEST_F(Pool, StaysConstant_WhenManyThreadsUseIt) {
  constexpr int kThreads = 8;
  constexpr int kTimes = 1000;
  StagingPool pool(kPlenty);
  std::atomic<int> wrong{0};
  const auto work = [&](int t) {
    for (int i = 0; i < kTimes; ++i) {
      const std::size_t size = 1 + static_cast<std::size_t>((t * 7919 + i * 104729) % 20000);
      StagingLease lease;
      if (!pool.acquire(source(i % 2 == 0 ? StagingMemory::kRuntime : StagingMemory::kMalloc), size, &lease).is_ok()) {
        ++wrong;
        continue;
      }
      const int mine = t * 31 + i;
      std::memset(lease.data(), mine & 0xff, size);
      // Not each time: on a busy machine the core is gone for milliseconds.
      if (i % 8 == 0) std::this_thread::yield();
      if (std::any_of(lease.data(), lease.data() + size,
                      [&](std::byte b) { return b != static_cast<std::byte>(mine & 0xff); })) {
        ++wrong;
      }
    }
  };
  // Four size classes, two sources, each thread holds one block at a time.
  constexpr std::uint64_t kMost = std::uint64_t{kThreads} * 2 * (4 + 8 + 16 + 32) * 1024;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (std::thread &thread : threads) thread.join();
    EXPECT_LE(pool.held_bytes(), kMost) << "round " << round;
    EXPECT_LE(fake_.live_host_blocks(), kThreads * 4);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fallbacks(), 0U);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 0U);
  EXPECT_EQ(fake_.live_host_blocks(), 0);
}

TEST_F(Pool, StaysWithinItsLimit_WhenManyThreadsWantMore) {
  constexpr std::uint64_t kLimit = 48 * 1024;
  StagingPool pool(kLimit);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        StagingLease lease;
        const auto size = static_cast<std::size_t>(1 + (t + i) % 5 * 4096);
        if (!pool.acquire(source(StagingMemory::kRuntime), size, &lease).is_ok()) ++wrong;
        if (pool.held_bytes() > kLimit) ++wrong;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 0U);
}

TEST_F(Pool, OutlivesAThread_WhoseLeaseItTakesBack) {
  StagingPool pool(kPlenty);
  StagingLease lease;
  std::thread([&] { lease = acquire(&pool, source(StagingMemory::kRuntime), 4096); }).join();
  const std::byte *block = lease.data();
  std::thread([moved = std::move(lease)]() mutable { moved = StagingLease(); }).join();
  EXPECT_EQ(acquire(&pool, source(StagingMemory::kRuntime), 4096).data(), block);
}

// What the lease held before must neither leak nor be given back as something else.
TEST_F(Pool, TakesBackWhatALeaseHeld_WhenItIsFilledAgain) {
  StagingPool pool(kPlenty);
  {
    StagingLease lease = acquire(&pool, source(StagingMemory::kRuntime), 4096);
    EXPECT_TRUE(pool.acquire(source(StagingMemory::kMalloc), 100000, &lease).is_ok());
  }
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 0U);
  EXPECT_EQ(fake_.live_host_blocks(), 0);
}

}  // namespace
}  // namespace sluice::device::staging_pool_test
