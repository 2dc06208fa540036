// SPDX-License-Identifier: BSD-3-Clause
// PayloadStream: the payload of a region on a device, as the packed bytes that it travels as, which come into staging
// memory block by block, or go up from there. Without MPI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/device_memory.hpp"
#include "device/queue.hpp"
#include "device/staging_pool.hpp"
#include "sluice/backend.h"
#include "transfer/region.hpp"

namespace sluice::transfer {

// Two blocks are under way at the same time: one moves between device and staging memory while its owner works with the
// other one. Each slot has staging memory and a queue of its own, from its first use on. A payload with gaps is packed
// by one kernel a block, or by copies where no kernel does it. One thread at a time. When destroyed, waits for its
// moves.
class PayloadStream {
 public:
  static constexpr std::size_t kSlots = 2;

  // Of the payload of `region`, in blocks of up to `block_bytes` (> 0) through staging memory of `memory`. The region's
  // memory outlives this. `is_absolute`: its addresses count from MPI_BOTTOM. Takes nothing yet.
  void open(const Region &region, StagingMemory memory, std::uint64_t block_bytes, bool is_absolute) noexcept;

  // The staging memory of a slot, of `block_bytes`; takes it at the first call. Errors: no memory.
  [[nodiscard]] Status acquire(std::size_t slot);
  // Null before.
  [[nodiscard]] std::byte *data(std::size_t slot) const noexcept { return slots_[slot].lease.data(); }

  // Begins to bring bytes `first` to `first + size_bytes` (> 0) of the payload into an acquired slot, or up out of it;
  // nothing else of the region is touched. Nothing is under way in the slot. Copies take blocks in their order; any
  // other order costs a walk over the runs before. Errors: those of the runtime, and a run that leaves its memory.
  [[nodiscard]] Status begin_down(std::size_t slot, std::uint64_t first, std::uint64_t size_bytes) {
    return begin(slot, first, size_bytes, true);
  }
  [[nodiscard]] Status begin_up(std::size_t slot, std::uint64_t first, std::uint64_t size_bytes) {
    return begin(slot, first, size_bytes, false);
  }
  // Whether what was begun in the slot has ended, well or not; true if nothing was. Never blocks.
  [[nodiscard]] Status poll(std::size_t slot, bool *is_done) { return slots_[slot].move.poll(is_done); }
  // Returns when it has ended. Blocks. Errors: those of the runtime.
  [[nodiscard]] Status wait(std::size_t slot);

 private:
  struct Slot {
    device::StagingLease lease;
    device::DeviceMemory scratch;  // for kernels that do not reach the staging memory
    device::Queue queue;           // outlives the move
    device::PendingCopy move;
  };
  // Where in the layout a byte of the payload is.
  struct Cursor {
    std::uint64_t position = 0;
    std::int64_t element = 0;
    std::size_t block = 0;
    std::uint64_t done_bytes = 0;  // of the block
  };
  [[nodiscard]] Status begin(std::size_t slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down);
  [[nodiscard]] Status enqueue(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down);
  [[nodiscard]] Status enqueue_kernel(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down,
                                      bool *is_refused);
  [[nodiscard]] Status enqueue_by_scratch(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down,
                                          bool *is_refused);
  [[nodiscard]] Status enqueue_runs(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down);
  void seek(std::uint64_t position) noexcept;
  void advance(std::uint64_t bytes) noexcept;

  Region region_;
  StagingMemory memory_ = StagingMemory::kMalloc;
  std::uint64_t block_bytes_ = 0;
  bool is_absolute_ = false;
  bool takes_kernel_ = false;  // until one refuses
  bool needs_scratch_ = false;
  Cursor cursor_;
  std::vector<sluice_copy_t> pieces_;  // of one command
  std::array<Slot, kSlots> slots_;
};

}  // namespace sluice::transfer
