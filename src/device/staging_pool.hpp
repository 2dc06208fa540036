// SPDX-License-Identifier: BSD-3-Clause
// StagingPool: host memory through which device data travels, kept and used again; bounded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/short_mutex.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "device/backend.hpp"

namespace sluice::device {

// Where staging memory comes from; blocks of different sources are never mixed.
struct StagingSource {
  const Backend *backend = nullptr;
  std::int32_t device = 0;
  StagingMemory memory = StagingMemory::kMalloc;
  bool operator==(const StagingSource &) const = default;
};

class StagingPool;

// One block of staging memory, held until destroyed. Movable. May be destroyed by another thread. One thread at a time.
class StagingLease {
 public:
  StagingLease() noexcept = default;
  StagingLease(StagingLease &&other) noexcept;
  StagingLease &operator=(StagingLease &&other) noexcept;
  StagingLease(const StagingLease &) = delete;
  StagingLease &operator=(const StagingLease &) = delete;
  ~StagingLease();

  // First byte; null for an empty lease. The block is at least as long as was asked for.
  [[nodiscard]] std::byte *data() const noexcept { return data_; }
  [[nodiscard]] bool is_empty() const noexcept { return data_ == nullptr; }
  // It is memory of the source that was asked for, and no C memory in its place.
  [[nodiscard]] bool is_pooled() const noexcept { return pool_ != nullptr; }

 private:
  friend class StagingPool;
  StagingPool *pool_ = nullptr;  // null: memory of its own, from C's aligned_alloc
  StagingSource source_;
  unsigned size_class_ = 0;
  std::byte *data_ = nullptr;
};

// Any thread.
class StagingPool {
 public:
  // Keeps at most `limit_bytes` of memory, leased and idle together. The pool outlives its leases.
  explicit StagingPool(std::uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}
  ~StagingPool();
  StagingPool(const StagingPool &) = delete;
  StagingPool &operator=(const StagingPool &) = delete;

  // The process's pool, bounded by device_pool_bytes. Never destroyed.
  static StagingPool &process();

  // A block of at least `size_bytes` (> 0). From the idle blocks when one fits; else newly allocated; else, when the
  // limit is reached even after giving idle blocks back, or the runtime refuses, C memory that lives as long as the
  // lease, with one warning and a count in the statistics. Errors: kOutOfMemory, only where that cannot be had either,
  // or for more than the largest block. Hot when a block is idle: one lock, no system call. Never waits for another
  // lease.
  [[nodiscard]] Status acquire(const StagingSource &source, std::size_t size_bytes, StagingLease *lease);

  // The same, but the lease stays empty unless an idle block fits, or the pool holds no more than half of its limit
  // with a new one: for who can do without, and would keep it from others for long.
  void acquire_spare(const StagingSource &source, std::size_t size_bytes, StagingLease *lease);

  // Gives idle blocks back to where they came from. Before the backends are shut down, and in tests.
  void trim() noexcept;

  // Bytes that the pool holds now, leased and idle.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept;

 private:
  friend class StagingLease;
  // Blocks have sizes 4 KiB · 2^class: at most half is wasted, and messages of nearby sizes share blocks.
  static constexpr unsigned kSmallestShift = 12;
  static constexpr unsigned kClasses = 36;
  struct Shelf {
    StagingSource source;
    std::vector<std::byte *> idle[kClasses];
  };

  [[nodiscard]] static unsigned class_of(std::size_t size_bytes) noexcept;
  [[nodiscard]] static std::size_t class_bytes(unsigned size_class) noexcept;
  [[nodiscard]] static Status allocate(const StagingSource &source, std::size_t size_bytes, std::byte **block);
  static void free(const StagingSource &source, std::byte *block) noexcept;
  Shelf &shelf_of(const StagingSource &source);
  // With the lock held.
  [[nodiscard]] bool take_idle(StagingLease *lease);
  void set_held(std::uint64_t bytes) noexcept;
  // Without it; they take it.
  [[nodiscard]] Status fill_reserved(StagingLease *lease);
  void release(StagingLease *lease) noexcept;
  // With it.
  void free_idle(std::uint64_t wanted_bytes) noexcept;
  // `cause` names the remedy that `why` asks for: each is said once.
  [[nodiscard]] static Status acquire_unpooled(std::size_t size_bytes, std::string_view cause, const Status &why,
                                               StagingLease *lease);

  const std::uint64_t limit_bytes_;
  mutable ShortMutex mutex_;
  std::uint64_t held_bytes_ = 0;
  std::vector<std::unique_ptr<Shelf>> shelves_;
};

}  // namespace sluice::device
