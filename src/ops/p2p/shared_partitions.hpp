// SPDX-License-Identifier: BSD-3-Clause
// SharedPartitions: a partitioned message that goes directly. The two sides share a word for each partition of the
// sender's, which says in which start it was made ready or put. Two more words say which start the receiver has begun,
// and which it has taken whole. The receiver copies what is ready out of the sender's memory (docs/adr/0071); what was
// put a stream of the sender's has copied to the receiver (docs/adr/0076).
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

// The words. Starts are counted from 1 by each side for itself, and both count alike. Threads: any, once create() or
// open() has made them.
class PartitionWords {
 public:
  // What is where. The receiver's words have a line of their own, and so has what kernels of the sender's read.
  static constexpr std::size_t kTaken = 0;
  static constexpr std::size_t kBegun = 1;
  static constexpr std::size_t kMark = 16;  // ready_mark() of the sender's start; the receiver does not look at it
  static constexpr std::size_t kFirstFlag = 32;
  // Whole pages, as host_register has it.
  [[nodiscard]] static constexpr std::size_t bytes_for(std::uint64_t n_partitions) noexcept {
    constexpr std::size_t kPageBytes = 4096;
    const auto bytes = static_cast<std::size_t>((kFirstFlag + n_partitions) * sizeof(std::uint64_t));
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  // What a partition's word says in a start. The word only grows.
  [[nodiscard]] static constexpr std::uint64_t ready_mark(std::uint64_t start) noexcept { return start << 1U; }
  [[nodiscard]] static constexpr std::uint64_t put_mark(std::uint64_t start) noexcept { return start << 1U | 1U; }
  [[nodiscard]] static constexpr std::uint64_t start_of(std::uint64_t mark) noexcept { return mark >> 1U; }
  [[nodiscard]] static constexpr bool is_put(std::uint64_t mark) noexcept { return (mark & 1U) != 0; }

  // As the sender: makes them, all 0, for `n_partitions` of its own, under a name for the receiver. Errors: the
  // system's.
  [[nodiscard]] Status create(std::uint64_t n_partitions, wire::SegmentName *name);
  // As the receiver: maps those of the sender. Blocks as wire::SharedSegment::open(). Errors: there are none of that
  // name and number.
  [[nodiscard]] Status open(std::uint64_t n_partitions, const wire::SegmentName &name);

  // What precedes the store is visible to whoever reads the value.
  void set_ready(std::uint64_t partition, std::uint64_t start) const noexcept {
    set(kFirstFlag + partition, ready_mark(start));
  }
  [[nodiscard]] std::uint64_t mark(std::uint64_t partition) const noexcept { return get(kFirstFlag + partition); }
  void set_begun(std::uint64_t start) const noexcept { set(kBegun, start); }
  [[nodiscard]] std::uint64_t begun() const noexcept { return get(kBegun); }
  void set_taken(std::uint64_t start) const noexcept { set(kTaken, start); }
  [[nodiscard]] std::uint64_t taken() const noexcept { return get(kTaken); }
  // The first of them; null: there are none.
  [[nodiscard]] std::uint64_t *data() const noexcept { return static_cast<std::uint64_t *>(segment_->data()); }
  // They stay mapped as long as it lives.
  [[nodiscard]] std::shared_ptr<const void> owner() const noexcept { return segment_; }

 private:
  [[nodiscard]] std::uint64_t get(std::uint64_t index) const noexcept {
    return __atomic_load_n(data() + index, __ATOMIC_ACQUIRE);
  }
  void set(std::uint64_t index, std::uint64_t value) const noexcept {
    __atomic_store_n(data() + index, value, __ATOMIC_RELEASE);
  }

  std::shared_ptr<wire::SharedSegment> segment_ = std::make_shared<wire::SharedSegment>();
};

// Where one side's partitions lie, as it travels to the other one. Threads: any.
struct PartitionMemory {
  std::uint64_t offset_bytes = 0;
  std::uint64_t allocation_bytes = 0;  // 0: nothing is said
  std::uint64_t base_address = 0;      // of the allocation, in its process; a name for the cache of mappings
  sluice_ipc_handle_t handle{};

  // Of this process's, which is device memory. Errors: it cannot be exported.
  [[nodiscard]] static Status export_from(const transfer::Region &region, PartitionMemory *memory);
  // Maps the other side's for a device, `place`: *begin is the first of `size_bytes`. `process` is its rank in
  // MPI_COMM_WORLD. Blocks for the runtime. Errors: they do not lie in the memory that it names; it cannot be mapped,
  // or not now.
  [[nodiscard]] Status import_for(const device::Place &place, int process, std::uint64_t size_bytes,
                                  device::ImportedPtr *imported, std::byte **begin) const;
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
  // What has come in one call.
  struct Came {
    std::uint64_t copied_bytes = 0;
    std::uint64_t put_bytes = 0;
    std::uint64_t n_put = 0;  // partitions of the sender's
    bool is_all = false;      // and all has come now
  };
  // Goes as far as is possible without blocking: begins to copy all that is ready, or looks for the end of that; and
  // looks for what was put. Errors: those of the runtime; kBadPeer: the sender says what cannot be. Nothing more is
  // taken then, and the sender is free.
  [[nodiscard]] Status advance(Came *came);
  // The payload's bytes from `first_bytes` on, `size_bytes` (> 0) of them, have come in that start. Any thread.
  [[nodiscard]] bool has_taken(std::uint64_t start, std::uint64_t first_bytes, std::uint64_t size_bytes) const noexcept;

 private:
  [[nodiscard]] Status collect(Came *came);
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
