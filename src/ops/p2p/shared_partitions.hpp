// SPDX-License-Identifier: BSD-3-Clause
// SharedPartitions: a partitioned message that goes directly. The two sides share a word for each partition of the
// sender's, which says in which start it was made ready, and one that says which start the receiver has taken whole.
// The receiver copies what is ready out of the sender's memory (docs/adr/0071).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "device/ipc_imports.hpp"
#include "device/queue.hpp"
#include "transfer/region.hpp"
#include "wire/shared_segment.hpp"

namespace sluice::ops {

// The words. Starts are counted from 1 by each side for itself, and both count alike.
class PartitionWords {
 public:
  // As the sender: makes them, all 0, for `n_partitions` of its own, under a name for the receiver. Errors: the
  // system's.
  [[nodiscard]] Status create(std::uint64_t n_partitions, wire::SegmentName *name);
  // As the receiver: maps those of the sender. Blocks as wire::SharedSegment::open(). Errors: there are none of that
  // name and number.
  [[nodiscard]] Status open(std::uint64_t n_partitions, const wire::SegmentName &name);

  // What precedes the store is visible to whoever reads the value. Any thread.
  void set_ready(std::uint64_t partition, std::uint64_t start) const noexcept { set(kFirstReady + partition, start); }
  [[nodiscard]] std::uint64_t ready(std::uint64_t partition) const noexcept { return get(kFirstReady + partition); }
  void set_taken(std::uint64_t start) const noexcept { set(0, start); }
  [[nodiscard]] std::uint64_t taken() const noexcept { return get(0); }

 private:
  // The receiver's word has a line of its own.
  static constexpr std::uint64_t kFirstReady = 16;
  [[nodiscard]] static std::size_t bytes_for(std::uint64_t n_partitions) noexcept {
    return static_cast<std::size_t>((kFirstReady + n_partitions) * sizeof(std::uint64_t));
  }
  [[nodiscard]] std::uint64_t *at(std::uint64_t index) const noexcept {
    return static_cast<std::uint64_t *>(segment_.data()) + index;
  }
  [[nodiscard]] std::uint64_t get(std::uint64_t index) const noexcept {
    return __atomic_load_n(at(index), __ATOMIC_ACQUIRE);
  }
  void set(std::uint64_t index, std::uint64_t value) const noexcept {
    __atomic_store_n(at(index), value, __ATOMIC_RELEASE);
  }

  wire::SharedSegment segment_;
};

// The receiver's part: takes partitions as they become ready. One thread at a time, but for has_taken().
class PartitionTaker {
 public:
  // All of the sender's `n_partitions`, which lie at `source` in `imported`, are to come into `region`, which is one
  // run of as many bytes.
  PartitionTaker(PartitionWords words, std::uint64_t n_partitions, device::ImportedPtr imported,
                 const std::byte *source, const transfer::Region &region);

  // Partitions of start `start` are taken from now on.
  void begin(std::uint64_t start) noexcept;
  // Goes as far as is possible without blocking: begins to copy all that is ready, or looks for the end of that.
  // *bytes: how many have come in this call. *is_done: all have come. After an error nothing more is taken, and the
  // sender is free.
  [[nodiscard]] Status advance(std::uint64_t *bytes, bool *is_done);
  // The payload's bytes from `first_bytes` on, `size_bytes` (> 0) of them, have come in that start. Any thread.
  [[nodiscard]] bool has_taken(std::uint64_t start, std::uint64_t first_bytes, std::uint64_t size_bytes) const noexcept;

 private:
  [[nodiscard]] Status collect();
  [[nodiscard]] Status fail(Status status);

  const PartitionWords words_;
  const std::uint64_t n_partitions_;
  const device::ImportedPtr imported_;
  const std::byte *const source_;
  const transfer::Region region_;
  const std::uint64_t partition_bytes_;
  // In which start each came last.
  const std::unique_ptr<std::atomic<std::uint64_t>[]> taken_;
  std::uint64_t start_ = 0;
  std::uint64_t first_missing_ = 0;
  std::vector<sluice_copy_t> pieces_;     // under way; neighbours are one
  std::vector<std::uint64_t> under_way_;  // the partitions in them
  device::Queue queue_;                   // outlives the copy
  device::PendingCopy copy_;
};

}  // namespace sluice::ops
