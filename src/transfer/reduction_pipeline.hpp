// SPDX-License-Identifier: BSD-3-Clause
// ReductionPipeline: a reduction of memory of several devices, block by block: copy engines bring the other devices'
// elements into memory of Sluice's own, a kernel reduces what is on its device by then, and engines bring the result to
// the other devices. Blocks of each stage are under way at the same time. Without MPI. (ISC'25 poster: copy engines and
// kernels that overlap.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/device_memory.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"
#include "sluice/backend.h"

namespace sluice::transfer {

// results[r][i] = sources[0][i] op sources[1][i] op ..., from the left. No array overlaps another, but a result may be
// the very place of a source: element i of each result is written when element i of all sources has been read. At most
// SLUICE_REDUCE_MAX_SOURCES sources.
struct PipelinedReduction {
  device::Place place;  // the device that computes; its backend has the groups `reduce` and `pack`
  sluice_element_t element{};
  sluice_operation_t operation{};
  std::uint64_t element_bytes = 1;
  std::uint64_t count = 0;
  std::vector<const std::byte *> sources;  // in their order
  std::size_t own = 0;                     // sources[own] is memory of that device
  std::byte *own_result = nullptr;         // memory of that device; null: it gets none
  std::vector<std::byte *> results;        // the others, in memory that the device's copies reach
};

// One thread at a time. When destroyed before it is done, waits for what is under way.
class ReductionPipeline {
 public:
  // As many blocks are under way: one waits for the engines, the others are brought, reduced, and brought away.
  static constexpr std::size_t kSlots = 4;

  // Takes device memory and queues for blocks of `block_bytes` (at least an element's). Errors: no memory; nothing has
  // been written then, and the work can be done another way. May throw std::bad_alloc, as nothing after it does but for
  // the text of an error. Blocks as an allocation of the device does.
  [[nodiscard]] Status open(PipelinedReduction work, std::uint64_t block_bytes);

  // Goes as far as is possible without blocking; *is_done when all is written, or with an error, after which nothing
  // more is begun and what the results hold is not known.
  [[nodiscard]] Status advance(bool *is_done);

  // Whether a kernel has been enqueued: before, nothing has been written but memory of Sluice's own.
  [[nodiscard]] bool has_written() const noexcept { return has_written_; }
  [[nodiscard]] std::uint64_t n_blocks() const noexcept { return n_blocks_; }

 private:
  enum class Stage : std::uint8_t { kFree, kPulling, kReducing, kPushing };
  struct Slot {
    Stage stage = Stage::kFree;
    std::uint64_t block = 0;
    device::PendingCopy under_way;
  };

  [[nodiscard]] Status begin_blocks();
  [[nodiscard]] Status step(Slot *slot);
  [[nodiscard]] Status pull(Slot *slot);
  [[nodiscard]] Status reduce(Slot *slot);
  [[nodiscard]] Status push(Slot *slot);
  [[nodiscard]] std::uint64_t count_of(const Slot &slot) const noexcept;
  [[nodiscard]] std::uint64_t offset_of(const Slot &slot) const noexcept {
    return slot.block * block_count_ * work_.element_bytes;
  }
  // Room of a slot for the block of source `index`; behind them for a result that is nobody's here.
  [[nodiscard]] std::byte *room(const Slot &slot, std::size_t index) const noexcept;
  [[nodiscard]] std::byte *result_of(const Slot &slot) const noexcept;

  PipelinedReduction work_;
  std::uint64_t block_count_ = 0;  // elements of each block but the last
  std::uint64_t room_bytes_ = 0;
  std::uint64_t rooms_ = 0;  // in each slot
  std::uint64_t n_blocks_ = 0;
  std::uint64_t n_begun_ = 0;
  std::uint64_t n_done_ = 0;
  bool has_written_ = false;
  device::DeviceMemory memory_;
  // They outlive what is under way.
  device::Queue pulls_;
  device::Queue kernels_;
  device::Queue pushes_;
  std::vector<sluice_copy_t> copies_;  // kept, so that nothing is allocated on the way
  std::vector<const void *> sources_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace sluice::transfer
