// SPDX-License-Identifier: BSD-3-Clause
// A sorted table under a version counter (a "sequence lock" with atomic cells, so that it is free of data races).
//
// Why the orders are right: a writer makes the version odd, then stores cells with release. A reader that loads a new
// cell with acquire therefore also sees the odd version when it loads it again at the end, and starts over.
#include "runtime/address_index.h"

#include <sched.h>

#include <algorithm>

namespace emurt {
namespace {

constexpr size_t kFirstCapacity = 256;
constexpr int kTriesBeforeYield = 1000;

uint64_t pack(emu_memory_kind_t kind, int32_t device) {
  return (static_cast<uint64_t>(kind) << 32U) | static_cast<uint32_t>(device);
}

// Holds the version odd for as long as it lives.
class VersionWrite {
 public:
  explicit VersionWrite(std::atomic<uint64_t> &version) : version_(version) {
    version_.fetch_add(1, std::memory_order_acq_rel);
  }
  ~VersionWrite() { version_.fetch_add(1, std::memory_order_release); }
  VersionWrite(const VersionWrite &) = delete;
  VersionWrite &operator=(const VersionWrite &) = delete;

 private:
  std::atomic<uint64_t> &version_;
};

}  // namespace

void AddressIndex::Slot::assign(const Slot &other) {
  end.store(other.end.load(std::memory_order_relaxed), std::memory_order_release);
  allocation_id.store(other.allocation_id.load(std::memory_order_relaxed), std::memory_order_release);
  kind_and_device.store(other.kind_and_device.load(std::memory_order_relaxed), std::memory_order_release);
}

AddressIndex::Columns::Columns(size_t n)
    : capacity(n), begin(std::make_unique<std::atomic<uintptr_t>[]>(n)), slot(std::make_unique<Slot[]>(n)) {}

AddressIndex::AddressIndex() {
  owned_.push_back(std::make_unique<Columns>(kFirstCapacity));
  columns_.store(owned_.back().get(), std::memory_order_release);
}

size_t AddressIndex::n_up_to(const Columns &columns, size_t n_ranges, uintptr_t address) {
  size_t low = 0;
  size_t high = n_ranges;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (columns.begin[middle].load(std::memory_order_acquire) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool AddressIndex::find(uintptr_t address, AddressEntry *entry) const {
  for (int tries = 1;; ++tries) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    if ((version & 1U) == 0) {
      const Columns &columns = *columns_.load(std::memory_order_acquire);
      const size_t n_ranges = std::min(n_ranges_.load(std::memory_order_acquire), columns.capacity);
      const size_t n = n_up_to(columns, n_ranges, address);
      AddressEntry found;
      if (n > 0) {
        const Slot &slot = columns.slot[n - 1];
        found.begin = columns.begin[n - 1].load(std::memory_order_acquire);
        found.end = slot.end.load(std::memory_order_acquire);
        found.allocation_id = slot.allocation_id.load(std::memory_order_acquire);
        const uint64_t packed = slot.kind_and_device.load(std::memory_order_acquire);
        found.kind = static_cast<emu_memory_kind_t>(packed >> 32U);
        found.device = static_cast<int32_t>(static_cast<uint32_t>(packed));
      }
      if (version_.load(std::memory_order_relaxed) == version) {
        if (n == 0 || address >= found.end) return false;
        *entry = found;
        return true;
      }
    }
    // The writer may have lost its core in the middle.
    if (tries % kTriesBeforeYield == 0) sched_yield();
  }
}

void AddressIndex::write_entry(size_t position, const AddressEntry &entry) {
  const Columns &columns = *owned_.back();
  columns.begin[position].store(entry.begin, std::memory_order_release);
  Slot &slot = columns.slot[position];
  slot.end.store(entry.end, std::memory_order_release);
  slot.allocation_id.store(entry.allocation_id, std::memory_order_release);
  slot.kind_and_device.store(pack(entry.kind, entry.device), std::memory_order_release);
}

void AddressIndex::move_entry(const Columns &from, size_t from_position, const Columns &to, size_t to_position) {
  to.begin[to_position].store(from.begin[from_position].load(std::memory_order_relaxed), std::memory_order_release);
  to.slot[to_position].assign(from.slot[from_position]);
}

void AddressIndex::grow() {
  const Columns &old_columns = *owned_.back();
  auto larger = std::make_unique<Columns>(old_columns.capacity * 2);
  const size_t n_ranges = n_ranges_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < n_ranges; ++i) move_entry(old_columns, i, *larger, i);
  owned_.push_back(std::move(larger));
  columns_.store(owned_.back().get(), std::memory_order_release);
}

void AddressIndex::put(const AddressEntry &entry) {
  const size_t n_ranges = n_ranges_.load(std::memory_order_relaxed);
  const size_t n = n_up_to(*owned_.back(), n_ranges, entry.begin);
  if (n > 0 && owned_.back()->begin[n - 1].load(std::memory_order_relaxed) == entry.begin) {
    const VersionWrite write(version_);
    write_entry(n - 1, entry);
    return;
  }
  if (n_ranges == owned_.back()->capacity) grow();
  const Columns &columns = *owned_.back();
  const VersionWrite write(version_);
  for (size_t i = n_ranges; i > n; --i) move_entry(columns, i - 1, columns, i);
  write_entry(n, entry);
  n_ranges_.store(n_ranges + 1, std::memory_order_release);
}

void AddressIndex::erase(uintptr_t begin) {
  const Columns &columns = *owned_.back();
  const size_t n_ranges = n_ranges_.load(std::memory_order_relaxed);
  const size_t n = n_up_to(columns, n_ranges, begin);
  if (n == 0 || columns.begin[n - 1].load(std::memory_order_relaxed) != begin) return;
  const VersionWrite write(version_);
  for (size_t i = n; i < n_ranges; ++i) move_entry(columns, i, columns, i - 1);
  n_ranges_.store(n_ranges - 1, std::memory_order_release);
}

}  // namespace emurt
