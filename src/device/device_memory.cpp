// SPDX-License-Identifier: BSD-3-Clause
#include "device/device_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/log.hpp"
#include "base/short_mutex.hpp"

namespace sluice::device {
namespace {

// Blocks are powers of two, so that messages of nearby lengths share them; a peer that has mapped one finds it mapped.
constexpr std::size_t kSmallestBytes = std::size_t{64} << 10;

struct Entry {
  const Backend *backend;
  std::int32_t device;
  std::size_t size_bytes;
  bool is_idle;
};

struct Pool {
  ShortMutex mutex;
  std::unordered_map<std::byte *, Entry> all;
  std::uint64_t held_bytes = 0;
};

Pool &pool() {
  static auto *const one = new Pool();
  return *one;
}

std::atomic<std::uint64_t> current_generation{1};

// Of blocks that were given back, which are kept. Above it a payload is packed into memory that is allocated for it.
constexpr std::uint64_t kMostKeptBytes = std::uint64_t{256} << 20;

void free_memory(std::byte *memory, const Entry &entry) noexcept {
  const Status status =
      entry.backend->check(entry.backend->table().device_free(entry.device, memory), "free device memory");
  if (!status.is_ok()) log::warn_once("device_free", "device", status.message());
}

std::byte *take_idle(const Place &place, std::int32_t device, std::size_t size_bytes) {
  for (auto &[memory, entry] : pool().all) {
    if (!entry.is_idle || entry.backend != place.backend || entry.device != device || entry.size_bytes != size_bytes) {
      continue;
    }
    entry.is_idle = false;
    return memory;
  }
  return nullptr;
}

}  // namespace

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), generation_(other.generation_) {}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  if (this == &other) return *this;
  reset();
  data_ = std::exchange(other.data_, nullptr);
  generation_ = other.generation_;
  return *this;
}

Status DeviceMemory::acquire(const Place &place, std::size_t size_bytes) {
  reset();
  const std::int32_t device = place.device_index();
  const std::size_t block_bytes = std::bit_ceil(std::max(size_bytes, kSmallestBytes));
  const std::uint64_t generation = current_generation.load(std::memory_order_acquire);
  {
    const std::scoped_lock lock(pool().mutex);
    data_ = take_idle(place, device, block_bytes);
  }
  generation_ = generation;
  if (data_ != nullptr) return {};
  void *memory = nullptr;
  Status status = place.backend->check(place.backend->table().device_alloc(device, block_bytes, &memory),
                                       fmt::format("allocate {} bytes of device memory", block_bytes));
  if (!status.is_ok()) return status;
  data_ = static_cast<std::byte *>(memory);
  const std::scoped_lock lock(pool().mutex);
  pool().all.insert_or_assign(data_, Entry{place.backend, device, block_bytes, false});
  pool().held_bytes += block_bytes;
  return {};
}

bool DeviceMemory::is_live() const noexcept {
  return data_ != nullptr && generation_ == current_generation.load(std::memory_order_acquire);
}

void DeviceMemory::reset() noexcept {
  std::byte *memory = std::exchange(data_, nullptr);
  if (memory == nullptr || generation_ != current_generation.load(std::memory_order_acquire)) return;
  Entry entry{};
  {
    const std::scoped_lock lock(pool().mutex);
    const auto found = pool().all.find(memory);
    if (found == pool().all.end()) return;
    if (pool().held_bytes <= kMostKeptBytes) {
      found->second.is_idle = true;
      return;
    }
    entry = found->second;
    pool().held_bytes -= entry.size_bytes;
    pool().all.erase(found);
  }
  free_memory(memory, entry);
}

void release_device_memory() noexcept {
  current_generation.fetch_add(1, std::memory_order_acq_rel);
  const std::scoped_lock lock(pool().mutex);
  for (const auto &[memory, entry] : pool().all) free_memory(memory, entry);
  pool().all.clear();
  pool().held_bytes = 0;
}

}  // namespace sluice::device
