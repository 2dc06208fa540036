// SPDX-License-Identifier: BSD-3-Clause
// ReductionPipeline: a reduction of memory of several devices, block by block: copy engines bring the other devices'
// elements into memory of Sluice's own, a kernel reduces what is on its device by then, and engines bring that to all
// others that get it, while others of them bring the next block, or when all has been reduced. So engines alone read
// and write the links, both of which they do faster than kernels (docs/adr/0024). Without MPI. (ISC'25 poster: copy
// engines and kernels that overlap.)
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

// Each result's element i = sources[0][i] op sources[1][i] op ..., from the left. No array overlaps another, but a
// result may be the very place of a source: element i of each result is written when element i of all sources has been
// read. 2 to SLUICE_REDUCE_MAX_SOURCES sources. Of elements without gaps, since what is sent is sent whole.
struct PipelinedReduction {
  device::Place place;  // the device that computes; its backend has the groups `reduce` and `pack`
  sluice_element_t element{};
  sluice_operation_t operation{};
  std::uint64_t element_bytes = 1;
  std::uint64_t count = 0;
  std::vector<const std::byte *> sources;  // in their order
  std::size_t own = 0;                     // sources[own] is memory of that device
  std::byte *own_result = nullptr;         // in memory of that device, too
  // Of others, in memory that the device's copies reach, in the order in which they are sent. May be none.
  std::vector<std::byte *> sent_results;
  bool sends_last = false;  // when all blocks are reduced, not block by block
};

// All of it is enqueued at once, in three queues that wait for each other on the device: between two blocks nobody
// waits for the host. One thread at a time. When destroyed before it is done, waits for what is under way.
class ReductionPipeline {
 public:
  // Blocks that are held: one is brought, the other reduced. With more of them engines and kernels are not faster
  // (docs/adr/0024).
  static constexpr std::uint64_t kRooms = 2;
  // The host looks at the end of every kBetweenLooks blocks, because what it looks at is a command more; and so many
  // are enqueued and not done, at most: far fewer than a runtime takes before it holds up who enqueues.
  static constexpr std::uint64_t kBetweenLooks = 16;
  static constexpr std::uint64_t kMostAhead = 2 * kBetweenLooks;

  ReductionPipeline() = default;
  ~ReductionPipeline();
  ReductionPipeline(const ReductionPipeline &) = delete;
  ReductionPipeline &operator=(const ReductionPipeline &) = delete;

  // Takes device memory and queues for blocks of which `brought_bytes` (at least an element of each) are brought from
  // all other sources together; twice as much is held. Errors: no memory, or a backend whose queues cannot wait for
  // each other; nothing has been written then, and the work can be done another way. May throw std::bad_alloc, as
  // nothing after it does but for the text of an error. Blocks as an allocation of the device does.
  [[nodiscard]] Status open(PipelinedReduction work, std::uint64_t brought_bytes);

  // Goes as far as is possible without blocking; *is_done when all is written, or after an error. Errors: those of the
  // runtime; nothing more is to be begun, and what the results hold is not known.
  [[nodiscard]] Status advance(bool *is_done);

  // Whether a kernel has been enqueued: before, nothing has been written but memory of Sluice's own.
  [[nodiscard]] bool has_written() const noexcept { return n_reduced_ > 0; }
  [[nodiscard]] std::uint64_t n_blocks() const noexcept { return n_blocks_; }

 private:
  [[nodiscard]] Status enqueue_next();
  [[nodiscard]] Status pull(std::uint64_t block);
  [[nodiscard]] Status reduce(std::uint64_t block);
  [[nodiscard]] Status send(std::uint64_t block);
  [[nodiscard]] Status send_bytes(std::uint64_t offset, std::uint64_t size_bytes);
  [[nodiscard]] Status look(bool *is_done);
  // Of all up to `block`, which is one to look at.
  [[nodiscard]] device::PendingCopy &end_of(std::uint64_t block) noexcept {
    return ends_[block / kBetweenLooks % ends_.size()];
  }
  [[nodiscard]] std::uint64_t count_of(std::uint64_t block) const noexcept;
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t block) const noexcept {
    return block * block_count_ * work_.element_bytes;
  }
  // Where the elements of source `index`, which is not the own one, are brought.
  [[nodiscard]] std::byte *room(std::uint64_t block, std::size_t index) const noexcept;

  PipelinedReduction work_;
  std::uint64_t block_count_ = 0;  // elements of each block but the last
  std::uint64_t room_bytes_ = 0;
  std::uint64_t n_blocks_ = 0;
  std::uint64_t n_pulled_ = 0;   // blocks whose copies are enqueued
  std::uint64_t n_reduced_ = 0;  // whose kernel is enqueued
  std::uint64_t n_done_ = 0;
  device::DeviceMemory memory_;
  // They outlive what is under way.
  device::Queue pulls_;
  device::Queue kernels_;
  device::Queue sends_;
  std::vector<sluice_copy_t> copies_;  // kept, so that nothing is allocated on the way
  std::vector<const void *> sources_;
  device::PendingCopy pulled_;               // of the last block
  device::PendingCopy sent_;                 // of what is sent last
  std::array<device::PendingCopy, 2> ends_;  // of all up to the blocks that are looked at, in turns
};

}  // namespace sluice::transfer
