// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/log.hpp"
#include "ops/p2p/block_stream.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {

void send_no_block(int peer, int number) {
  const int code =
      wire::host().MPI_Send(nullptr, 0, MPI_BYTE, peer, wire::Channel::tag(wire::PrivateKind::kBlock, number),
                            wire::Channel::process().comm());
  if (code == MPI_SUCCESS) return;
  log::warn_once("no_block", "p2p",
                 wire::host_failure(code, "tell a receiver that no more of its message comes",
                                    "that receiver may wait for ever, so end the job")
                     .message());
}

void OutgoingBlocks::begin(const device::Place &place, const std::byte *data, StagingMemory memory,
                           const transfer::BlockPlan &plan, std::uint32_t n_blocks, const BlockRoute &route) {
  place_ = place;
  data_ = data;
  memory_ = memory;
  plan_ = plan;
  route_ = route;
  n_blocks_ = std::min(n_blocks, plan.n_blocks);
  n_copied_ = n_sent_ = 0;
  outcome_ = {};
  if (is_in_host_memory()) return;
  if (Status status = queue_.acquire(place); !status.is_ok()) fail(status);
}

void OutgoingBlocks::refuse(const BlockRoute &route, const Status &why) {
  route_ = route;
  n_blocks_ = n_copied_ = n_sent_ = 0;
  outcome_ = {};
  fail(why);
}

bool OutgoingBlocks::advance() {
  reclaim();
  start_copies();
  send_copied();
  const bool is_idle = std::none_of(slots_.begin(), slots_.end(), [](const Slot &slot) { return slot.is_used; });
  return is_idle && (n_sent_ == n_blocks_ || !outcome_.is_ok());
}

void OutgoingBlocks::reclaim() {
  for (Slot &slot : slots_) {
    if (!slot.is_used || !slot.is_sent) continue;
    int is_done = 0;
    const int result = wire::host().MPI_Test(&slot.request, &is_done, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS && is_done == 0) continue;
    slot.is_used = slot.is_sent = false;
    if (result == MPI_SUCCESS) end_span(&slot, trace::Lane::kWire);
    if (result != MPI_SUCCESS) fail(wire::host_failure(result, "send a block"));
  }
}

void OutgoingBlocks::start_copies() {
  while (outcome_.is_ok() && n_copied_ < n_blocks_) {
    Slot &slot = slots_[n_copied_ % kBlockSlots];
    if (slot.is_used) return;
    if (Status status = start_copy(&slot, n_copied_); !status.is_ok()) return fail(status);
    ++n_copied_;
  }
}

Status OutgoingBlocks::start_copy(Slot *slot, std::uint32_t block) {
  slot->block = block;
  slot->is_sent = false;
  slot->is_used = is_in_host_memory();
  slot->payload = data_ + plan_.offset_bytes(block);
  if (slot->is_used) return {};  // send_copied() finds no copy to wait for
  if (slot->lease.is_empty()) {
    Status status = device::StagingPool::process().acquire({place_.backend, place_.device, memory_},
                                                           plan_.largest_bytes(), &slot->lease);
    if (!status.is_ok()) return status;
  }
  const sluice_copy_t piece{slot->lease.data(), slot->payload, plan_.block_bytes(block)};
  slot->payload = slot->lease.data();
  slot->span.begin();
  if (Status status = slot->copy.begin(&queue_, {&piece, 1}); !status.is_ok()) return status;
  slot->is_used = true;
  return {};
}

// In the order of the blocks: the receiver's receives are posted in that order.
void OutgoingBlocks::send_copied() {
  while (n_sent_ < n_copied_) {
    Slot &slot = slots_[n_sent_ % kBlockSlots];
    if (!slot.is_used || slot.is_sent) return;
    bool is_done = false;
    Status status = slot.copy.poll(&is_done);
    if (!is_done) return;
    ++n_sent_;
    if (status.is_ok()) end_span(&slot, trace::Lane::kD2h);
    if (!status.is_ok()) fail(status);
    // After a block that failed the receiver waits for no more.
    if (outcome_.is_ok()) {
      send(&slot, plan_.block_bytes(slot.block));
    } else {
      slot.is_used = false;
    }
  }
}

void OutgoingBlocks::send(Slot *slot, std::uint64_t size_bytes) {
  wire::Channel &channel = wire::Channel::process();
  // Blocks are far shorter than 2 GiB unless a knob says otherwise; then the large-count form is needed.
  const int tag = wire::Channel::tag(wire::PrivateKind::kBlock, route_.number);
  slot->span.begin();
  const int result = size_bytes <= kLargestInt
                         ? wire::host().MPI_Isend(slot->payload, static_cast<int>(size_bytes), MPI_BYTE, route_.peer,
                                                  tag, channel.comm(), &slot->request)
                         : wire::host().MPI_Isend_c(slot->payload, static_cast<MPI_Count>(size_bytes), MPI_BYTE,
                                                    route_.peer, tag, channel.comm(), &slot->request);
  slot->is_sent = true;
  if (result == MPI_SUCCESS) return;
  slot->is_used = slot->is_sent = false;
  if (size_bytes != 0) fail(wire::host_failure(result, "send a block"));
}

void OutgoingBlocks::end_span(Slot *slot, trace::Lane lane) const noexcept {
  slot->span.end(lane, route_.message, {plan_.block_bytes(slot->block), slot->block, plan_.n_blocks});
}

// The receiver learns of it by a block without bytes.
void OutgoingBlocks::fail(const Status &status) {
  if (!outcome_.is_ok()) return;
  outcome_ = status;
  send_no_block(route_.peer, route_.number);
}

}  // namespace sluice::ops
