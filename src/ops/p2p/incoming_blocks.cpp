// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <utility>

#include "ops/p2p/block_stream.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/status.hpp"

namespace sluice::ops {

Status IncomingBlocks::begin(const Target &target, const transfer::BlockPlan &plan, const BlockRoute &route) {
  target_ = target;
  plan_ = plan;
  route_ = route;
  n_blocks_ = plan.blocks_of(std::min(plan.size_bytes, target.capacity_bytes));
  if (target.place.kind != MemoryKind::kHost) {
    if (Status status = queue_.acquire(target.place); !status.is_ok()) return status;
  }
  for (Slot &slot : slots_) {
    if (n_posted_ == n_blocks_) break;
    if (Status status = post(&slot, n_posted_); !status.is_ok()) {
      stop(status);  // earlier slots' receives, whose memory is about to be given back
      return status;
    }
  }
  return {};
}

// Straight into memory that the CPU may touch, unless the block is longer than what is left of it, or has bytes of the
// head.
bool IncomingBlocks::is_direct(std::uint32_t block) const noexcept {
  const bool has_head = target_.head != nullptr && plan_.offset_bytes(block) < kDescriptorBytes;
  return target_.place.kind == MemoryKind::kHost && !has_head &&
         plan_.offset_bytes(block) + plan_.block_bytes(block) <= target_.capacity_bytes;
}

Status IncomingBlocks::post(Slot *slot, std::uint32_t block) {
  const std::uint64_t bytes = plan_.block_bytes(block);
  std::byte *landing = target_.memory + plan_.offset_bytes(block);
  if (!is_direct(block)) {
    if (slot->lease.is_empty()) {
      const device::StagingSource source{target_.place.backend, target_.place.device, target_.staging_memory};
      Status status = device::StagingPool::process().acquire(source, plan_.largest_bytes(), &slot->lease);
      if (!status.is_ok()) return status;
    }
    landing = slot->lease.data();
  }
  const wire::Channel &channel = wire::Channel::process();
  const int tag = wire::Channel::tag(wire::PrivateKind::kBlock, route_.number);
  slot->span.begin();
  const int result = bytes <= kLargestInt ? wire::host().MPI_Irecv(landing, static_cast<int>(bytes), MPI_BYTE,
                                                                   route_.peer, tag, channel.comm(), &slot->request)
                                          : wire::host().MPI_Irecv_c(landing, static_cast<MPI_Count>(bytes), MPI_BYTE,
                                                                     route_.peer, tag, channel.comm(), &slot->request);
  if (result != MPI_SUCCESS) return wire::host_failure(result, "receive a block");
  slot->block = block;
  slot->is_posted = true;
  ++n_posted_;
  return {};
}

bool IncomingBlocks::advance() {
  // Arrivals in the order of the blocks, so that slots are posted again in that order.
  while (n_arrived_ < n_posted_ && slots_[n_arrived_ % kBlockSlots].is_posted) {
    Slot &slot = slots_[n_arrived_ % kBlockSlots];
    int is_done = 0;
    MPI_Status status;
    const int result = wire::host().MPI_Test(&slot.request, &is_done, &status);
    if (result == MPI_SUCCESS && is_done == 0) break;
    slot.is_posted = false;
    ++n_arrived_;
    if (result != MPI_SUCCESS) {
      stop(wire::host_failure(result, "receive a block"));
    } else if (wire::received_bytes(status) != plan_.block_bytes(slot.block)) {
      stop(Status::error(ErrorKind::kBackend, "the sender could not read its device memory; its own error says why"));
    } else {
      end_span(&slot, trace::Lane::kWire);
      take(&slot);
    }
  }
  for (Slot &slot : slots_) {
    if (slot.is_copying) settle(&slot);
  }
  const bool is_copying = std::any_of(slots_.begin(), slots_.end(), [](const Slot &slot) { return slot.is_copying; });
  return !is_copying && (n_done_ == n_blocks_ || is_stopped_);
}

// A block has come: it is in place, or its copy begins. After an error blocks are received and dropped, so that the
// sender is rid of them.
void IncomingBlocks::take(Slot *slot) {
  slot->is_copying = true;  // and done at once if no copy is begun: settle() asks
  if (!outcome_.is_ok()) return;
  const std::uint64_t offset = plan_.offset_bytes(slot->block);
  const std::uint64_t bytes = wanted_bytes(slot->block);
  if (target_.place.kind == MemoryKind::kHost) {
    if (!is_direct(slot->block)) put(offset, slot->lease.data(), bytes);
    return;
  }
  const sluice_copy_t piece{target_.memory + offset, slot->lease.data(), bytes};
  slot->span.begin();
  outcome_ = slot->copy.begin(&queue_, {&piece, 1});
}

// Into memory that the CPU may touch.
void IncomingBlocks::put(std::uint64_t offset_bytes, const std::byte *from, std::uint64_t size_bytes) const noexcept {
  const bool has_head = target_.head != nullptr && offset_bytes < kDescriptorBytes;
  const std::uint64_t head_bytes = has_head ? std::min(size_bytes, kDescriptorBytes - offset_bytes) : 0;
  if (has_head) std::memcpy(target_.head + offset_bytes, from, head_bytes);
  std::memcpy(target_.memory + offset_bytes + head_bytes, from + head_bytes, size_bytes - head_bytes);
}

// What the target has room for.
std::uint64_t IncomingBlocks::wanted_bytes(std::uint32_t block) const noexcept {
  return std::min(plan_.block_bytes(block), target_.capacity_bytes - plan_.offset_bytes(block));
}

void IncomingBlocks::end_span(Slot *slot, trace::Lane lane) const noexcept {
  const std::uint64_t bytes = lane == trace::Lane::kWire ? plan_.block_bytes(slot->block) : wanted_bytes(slot->block);
  slot->span.end(lane, route_.message, {bytes, slot->block, plan_.n_blocks});
}

void IncomingBlocks::settle(Slot *slot) {
  bool is_done = false;
  Status status = slot->copy.poll(&is_done);
  if (!is_done) return;
  slot->is_copying = false;
  ++n_done_;
  if (outcome_.is_ok()) outcome_ = std::move(status);
  if (outcome_.is_ok()) end_span(slot, trace::Lane::kH2d);
  // Slots are posted again in the order of the blocks; this one's turn may not have come.
  while (!is_stopped_ && n_posted_ < n_blocks_) {
    Slot &next = slots_[n_posted_ % kBlockSlots];
    if (next.is_posted || next.is_copying) return;
    if (Status posted = post(&next, n_posted_); !posted.is_ok()) return stop(std::move(posted));
  }
}

// Nothing more will come: receives that are posted are withdrawn.
void IncomingBlocks::stop(Status status) {
  is_stopped_ = true;
  if (outcome_.is_ok()) outcome_ = std::move(status);
  for (Slot &slot : slots_) {
    if (!slot.is_posted) continue;
    slot.is_posted = false;
    if (wire::host().MPI_Cancel(&slot.request) != MPI_SUCCESS ||
        wire::host().MPI_Wait(&slot.request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      continue;  // the outcome is an error already
    }
  }
}

}  // namespace sluice::ops
