// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/payload_stream.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "transfer/packing.hpp"
#include "transfer/pieces.hpp"

namespace sluice::transfer {
namespace {

// Of one command: many short runs must not need a list as long as the data.
constexpr std::size_t kMostPieces = 4096;

sluice_pack_direction_t direction(bool is_down) noexcept {
  return is_down ? SLUICE_PACK : SLUICE_UNPACK;
}

}  // namespace

void PayloadStream::open(const Region &region, StagingMemory memory, std::uint64_t block_bytes,
                         bool is_absolute) noexcept {
  region_ = region;
  memory_ = memory;
  block_bytes_ = block_bytes;
  is_absolute_ = is_absolute;
  takes_kernel_ = !region.layout->is_contiguous && Packer::is_for(region);
  needs_scratch_ = region.pack == PackMeans::kScratch;
  cursor_ = {};
}

Status PayloadStream::acquire(std::size_t slot) {
  Slot &one = slots_[slot];
  if (!one.lease.is_empty()) return {};
  const device::StagingSource source{region_.place.backend, region_.place.device, memory_};
  return device::StagingPool::process().acquire(source, block_bytes_, &one.lease);
}

Status PayloadStream::wait(std::size_t slot) {
  return slots_[slot].move.wait("move a block between device and staging memory");
}

Status PayloadStream::begin(std::size_t slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down) {
  Slot &one = slots_[slot];
  if (one.queue.is_empty()) {
    if (Status status = one.queue.acquire(region_.place); !status.is_ok()) return status;
  }
  Status status = enqueue(&one, first, size_bytes, is_down);
  if (status.is_ok()) return one.move.begin(&one.queue);
  one.queue.discard();  // with what was enqueued before the error
  return status;
}

Status PayloadStream::enqueue(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down) {
  if (region_.layout->is_contiguous) {
    std::byte *const memory = region_.origin + first;
    std::byte *const staged = slot->lease.data();
    const sluice_copy_t piece{is_down ? staged : memory, is_down ? memory : staged, size_bytes};
    return slot->queue.enqueue({&piece, 1});
  }
  if (takes_kernel_) {
    bool is_refused = false;
    Status status = enqueue_kernel(slot, first, size_bytes, is_down, &is_refused);
    if (!status.is_ok() || !is_refused) return status;
    takes_kernel_ = false;
  }
  return enqueue_runs(slot, first, size_bytes, is_down);
}

Status PayloadStream::enqueue_kernel(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down,
                                     bool *is_refused) {
  if (!needs_scratch_) {
    Status status = enqueue_pack(&slot->queue, direction(is_down), SLUICE_PACKED, region_, first, size_bytes,
                                 slot->lease.data(), is_refused);
    if (!status.is_ok() || !*is_refused) return status;
    needs_scratch_ = true;
  }
  return enqueue_by_scratch(slot, first, size_bytes, is_down, is_refused);
}

// The queue keeps the order of kernel and copy.
Status PayloadStream::enqueue_by_scratch(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down,
                                         bool *is_refused) {
  *is_refused = true;
  if (region_.place.backend->table().device_alloc == nullptr) return {};
  if (!slot->scratch.is_live()) {
    if (Status status = slot->scratch.acquire(region_.place, block_bytes_); !status.is_ok()) {
      log::debug("transfer", status.message());
      return {};
    }
  }
  std::byte *const scratch = slot->scratch.data();
  std::byte *const staged = slot->lease.data();
  const sluice_copy_t copy{is_down ? staged : scratch, is_down ? scratch : staged, size_bytes};
  Status status;
  if (!is_down) status = slot->queue.enqueue({&copy, 1});
  if (status.is_ok()) {
    status =
        enqueue_pack(&slot->queue, direction(is_down), SLUICE_PACKED, region_, first, size_bytes, scratch, is_refused);
  }
  if (status.is_ok() && is_down && !*is_refused) status = slot->queue.enqueue({&copy, 1});
  return status;
}

void PayloadStream::seek(std::uint64_t position) noexcept {
  if (position == cursor_.position) return;
  const Layout &layout = *region_.layout;
  cursor_ = {};
  cursor_.element = static_cast<std::int64_t>(position / layout.size_bytes);
  cursor_.position = static_cast<std::uint64_t>(cursor_.element) * layout.size_bytes;
  while (cursor_.position < position) {
    advance(std::min(position - cursor_.position, layout.blocks[cursor_.block].size_bytes));
  }
}

// Within a block, or to its end.
void PayloadStream::advance(std::uint64_t bytes) noexcept {
  const Layout &layout = *region_.layout;
  cursor_.position += bytes;
  cursor_.done_bytes += bytes;
  if (cursor_.done_bytes < layout.blocks[cursor_.block].size_bytes) return;
  cursor_.done_bytes = 0;
  if (++cursor_.block < layout.blocks.size()) return;
  cursor_.block = 0;
  ++cursor_.element;
}

Status PayloadStream::enqueue_runs(Slot *slot, std::uint64_t first, std::uint64_t size_bytes, bool is_down) {
  const Layout &layout = *region_.layout;
  std::byte *staged = slot->lease.data();
  pieces_.clear();
  pieces_.reserve(kMostPieces);
  seek(first);
  for (std::uint64_t rest = size_bytes; rest != 0;) {
    const Block &block = layout.blocks[cursor_.block];
    std::byte *const memory = at(region_.origin, cursor_.element * layout.extent_bytes + block.offset_bytes +
                                                     static_cast<std::int64_t>(cursor_.done_bytes));
    std::uint64_t bytes = std::min(rest, block.size_bytes - cursor_.done_bytes);
    // What lies side by side may be two allocations.
    if (is_absolute_) {
      if (Status status = find_bytes_in_allocation(memory, bytes, &bytes); !status.is_ok()) return status;
    }
    add_piece(is_down ? staged : memory, is_down ? memory : staged, bytes, is_absolute_ ? pieces_.size() : 0, &pieces_);
    staged += bytes;
    rest -= bytes;
    advance(bytes);
    if (pieces_.size() < kMostPieces && rest != 0) continue;
    if (Status status = slot->queue.enqueue(pieces_); !status.is_ok()) return status;
    pieces_.clear();
  }
  return {};
}

}  // namespace sluice::transfer
