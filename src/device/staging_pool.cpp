// SPDX-License-Identifier: BSD-3-Clause
#include "device/staging_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "device/numa.hpp"

namespace sluice::device {

StagingLease::StagingLease(StagingLease &&other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      source_(other.source_),
      size_class_(other.size_class_),
      data_(std::exchange(other.data_, nullptr)) {}

StagingLease &StagingLease::operator=(StagingLease &&other) noexcept {
  // Through a third, so that what this one held is given back now and not when `other` goes.
  StagingLease taken(std::move(other));
  std::swap(pool_, taken.pool_);
  std::swap(source_, taken.source_);
  std::swap(size_class_, taken.size_class_);
  std::swap(data_, taken.data_);
  return *this;
}

StagingLease::~StagingLease() {
  if (data_ == nullptr) return;
  if (pool_ != nullptr) {
    pool_->release(this);
  } else {
    std::free(data_);
  }
}

StagingPool &StagingPool::process() {
  static auto *pool = new StagingPool(Knobs::process().bytes("device_pool_bytes"));
  return *pool;
}

StagingPool::~StagingPool() {
  trim();
}

unsigned StagingPool::class_of(std::size_t size_bytes) noexcept {
  const auto shift = static_cast<unsigned>(std::bit_width(std::max<std::size_t>(size_bytes, 1) - 1));
  return shift <= kSmallestShift ? 0 : shift - kSmallestShift;
}

std::size_t StagingPool::class_bytes(unsigned size_class) noexcept {
  return std::size_t{1} << (size_class + kSmallestShift);
}

Status StagingPool::allocate(const StagingSource &source, std::size_t size_bytes, std::byte **block) {
  void *memory = nullptr;
  const int node = source.backend != nullptr ? numa_node_of(*source.backend, source.device) : -1;
  switch (source.memory) {
    case StagingMemory::kMalloc:
      memory = std::malloc(size_bytes);
      break;
    case StagingMemory::kAligned:
      memory = std::aligned_alloc(kStagingAlignment, size_bytes);
      break;
    case StagingMemory::kRuntime:
    case StagingMemory::kRuntimeAligned: {
      const std::size_t alignment = source.memory == StagingMemory::kRuntime ? 0 : kStagingAlignment;
      const PreferredNode preferred(node);  // the runtime touches the pages, to pin them
      const Status status =
          source.backend->check(source.backend->table().host_alloc(source.device, size_bytes, alignment, &memory),
                                fmt::format("allocate {} bytes of staging memory", size_bytes));
      if (!status.is_ok()) return status;
      break;
    }
  }
  if (memory == nullptr) {
    return Status::error(ErrorKind::kOutOfMemory,
                         fmt::format("no {} bytes of host memory for staging; lower "
                                     "SLUICE_TUNING=device_pool_bytes=... or the program's use of memory",
                                     size_bytes));
  }
  *block = static_cast<std::byte *>(memory);
  if (source.memory == StagingMemory::kMalloc || source.memory == StagingMemory::kAligned) {
    prefer_node(*block, size_bytes, node);
  }
  return {};
}

void StagingPool::free(const StagingSource &source, std::byte *block) noexcept {
  if (source.memory == StagingMemory::kMalloc || source.memory == StagingMemory::kAligned) {
    forget_node(block);
    std::free(block);
    return;
  }
  const Status status =
      source.backend->check(source.backend->table().host_free(source.device, block), "free staging memory");
  if (!status.is_ok()) log::warn_once("host_free", "device", status.message());
}

StagingPool::Shelf &StagingPool::shelf_of(const StagingSource &source) {
  const auto found =
      std::find_if(shelves_.begin(), shelves_.end(), [&](const auto &shelf) { return shelf->source == source; });
  if (found != shelves_.end()) return **found;
  shelves_.push_back(std::make_unique<Shelf>());
  shelves_.back()->source = source;
  return *shelves_.back();
}

Status StagingPool::acquire(const StagingSource &source, std::size_t size_bytes, StagingLease *lease) {
  const unsigned size_class = class_of(size_bytes);
  if (size_class >= kClasses) {
    return Status::error(ErrorKind::kOutOfMemory,
                         fmt::format("a message of {} bytes is too large to stage; send it in parts", size_bytes));
  }
  const std::size_t block_bytes = class_bytes(size_class);
  if (!lease->is_empty()) *lease = StagingLease();  // gives back what it held
  lease->source_ = source;
  lease->size_class_ = size_class;
  {
    const std::scoped_lock lock(mutex_);
    if (take_idle(lease)) return {};
    if (held_bytes_ + block_bytes > limit_bytes_) free_idle(held_bytes_ + block_bytes - limit_bytes_);
    if (held_bytes_ + block_bytes > limit_bytes_) {
      return acquire_unpooled(
          size_bytes, "pool_limit",
          Status::error(ErrorKind::kOutOfMemory, fmt::format("the staging pool's limit of {} bytes is reached; raise "
                                                             "SLUICE_TUNING=device_pool_bytes=...",
                                                             limit_bytes_)),
          lease);
    }
    set_held(held_bytes_ + block_bytes);  // reserved; the allocation runs without the lock: it may take milliseconds
  }
  const Status status = fill_reserved(lease);
  return status.is_ok() ? status : acquire_unpooled(size_bytes, "pool_exhausted", status, lease);
}

void StagingPool::acquire_spare(const StagingSource &source, std::size_t size_bytes, StagingLease *lease) {
  if (!lease->is_empty()) *lease = StagingLease();
  lease->source_ = source;
  lease->size_class_ = class_of(size_bytes);
  if (lease->size_class_ >= kClasses) return;
  const std::size_t block_bytes = class_bytes(lease->size_class_);
  {
    const std::scoped_lock lock(mutex_);
    if (take_idle(lease) || held_bytes_ + block_bytes > limit_bytes_ / 2) return;
    set_held(held_bytes_ + block_bytes);
  }
  const Status status = fill_reserved(lease);
  if (!status.is_ok()) log::debug("device", status.message());
}

bool StagingPool::take_idle(StagingLease *lease) {
  auto &idle = shelf_of(lease->source_).idle[lease->size_class_];
  if (idle.empty()) return false;
  lease->data_ = idle.back();
  lease->pool_ = this;
  idle.pop_back();
  return true;
}

void StagingPool::set_held(std::uint64_t bytes) noexcept {
  held_bytes_ = bytes;
  statistics::record_staging(bytes);
}

Status StagingPool::fill_reserved(StagingLease *lease) {
  const std::size_t block_bytes = class_bytes(lease->size_class_);
  std::byte *block = nullptr;
  Status status = allocate(lease->source_, block_bytes, &block);
  if (status.is_ok()) {
    lease->data_ = block;
    lease->pool_ = this;
    return status;
  }
  const std::scoped_lock lock(mutex_);  // NOLINT(clang-analyzer-unix.Malloc): what failed allocated nothing
  set_held(held_bytes_ - block_bytes);
  return status;
}

Status StagingPool::acquire_unpooled(std::size_t size_bytes, std::string_view cause, const Status &why,
                                     StagingLease *lease) {
  // Each cause is said once: a limit that is reached, and a runtime that has no memory, ask for different remedies.
  log::warn_once(cause, "device", why.message() + " (C memory is used meanwhile, which is slower)");
  statistics::record_fallback("pool_exhausted");
  const std::size_t rounded = (size_bytes + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
  lease->pool_ = nullptr;
  lease->data_ = static_cast<std::byte *>(std::aligned_alloc(kStagingAlignment, rounded));
  if (lease->data_ != nullptr) return {};
  return Status::error(ErrorKind::kOutOfMemory,
                       fmt::format("no {} bytes of host memory to stage a message: {}", size_bytes, why.message()));
}

void StagingPool::release(StagingLease *lease) noexcept {
  const std::scoped_lock lock(mutex_);
  try {
    shelf_of(lease->source_).idle[lease->size_class_].push_back(lease->data_);
  } catch (...) {  // no memory for the list: the block goes back to where it came from
    free(lease->source_, lease->data_);
    set_held(held_bytes_ - class_bytes(lease->size_class_));
  }
}

void StagingPool::free_idle(std::uint64_t wanted_bytes) noexcept {
  std::uint64_t freed = 0;
  for (const auto &shelf : shelves_) {
    for (unsigned size_class = kClasses; size_class-- > 0 && freed < wanted_bytes;) {
      auto &idle = shelf->idle[size_class];
      while (!idle.empty() && freed < wanted_bytes) {
        free(shelf->source, idle.back());
        idle.pop_back();
        freed += class_bytes(size_class);
      }
    }
  }
  set_held(held_bytes_ - freed);
}

void StagingPool::trim() noexcept {
  const std::scoped_lock lock(mutex_);
  free_idle(held_bytes_);
}

std::uint64_t StagingPool::held_bytes() const noexcept {
  const std::scoped_lock lock(mutex_);
  return held_bytes_;
}

}  // namespace sluice::device
