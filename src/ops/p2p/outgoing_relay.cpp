// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "ops/p2p/relay.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {

void OutgoingRelay::begin(std::shared_ptr<RelayRing> ring, const device::Place &place, const std::byte *data,
                          std::uint64_t size_bytes, std::uint64_t n_blocks, const BlockRoute &route) {
  ring_ = std::move(ring);
  data_ = data;
  size_bytes_ = size_bytes;
  n_blocks_ = n_blocks;
  lane_ = place.kind == MemoryKind::kPinned ? trace::Lane::kH2d : trace::Lane::kD2d;
  route_ = route;
  n_begun_ = n_told_ = n_returned_ = 0;
  n_taken_.store(0);
  outcome_ = {};
  if (Status status = queue_.acquire(place); !status.is_ok()) fail(status);
}

void OutgoingRelay::note_taken(std::uint64_t n_blocks) noexcept {
  std::uint64_t known = n_taken_.load(std::memory_order_relaxed);
  while (known < n_blocks && !n_taken_.compare_exchange_weak(known, n_blocks, std::memory_order_release)) {
  }
}

bool OutgoingRelay::advance() {
  reclaim();
  start_copies();
  tell_of_copied();
  return n_returned_ == (outcome_.is_ok() ? n_blocks_ : n_begun_);
}

// The slots of what the receiver has taken; more than it was told of nobody takes. After an error it takes no more.
void OutgoingRelay::reclaim() {
  const std::uint64_t n_taken = outcome_.is_ok() ? n_taken_.load(std::memory_order_acquire) : n_told_;
  for (; n_returned_ < std::min(n_taken, n_told_); ++n_returned_) {
    Block &block = at(n_returned_);
    if (!is_told(&block)) return;
    ring_->give(block.slot);
  }
}

void OutgoingRelay::start_copies() {
  while (outcome_.is_ok() && n_begun_ < n_blocks_ && n_begun_ - n_returned_ < transfer::kRelaySlots) {
    Block &block = at(n_begun_);
    if (!ring_->take(&block.slot)) return;  // other messages to this peer have them
    const sluice_copy_t piece{ring_->slot(block.slot), data_ + n_begun_ * transfer::kRelayBlockBytes,
                              transfer::relay_block_bytes(size_bytes_, n_begun_)};
    block.note = {route_.message.number, n_begun_, block.slot};
    block.span.begin();
    if (Status status = block.copy.begin(&queue_, {&piece, 1}); !status.is_ok()) {
      ring_->give(block.slot);
      return fail(status);
    }
    ++n_begun_;
  }
}

// In the order of the blocks, in which the receiver expects them.
void OutgoingRelay::tell_of_copied() {
  for (; n_told_ < n_begun_; ++n_told_) {
    Block &block = at(n_told_);
    bool is_done = false;
    Status status = block.copy.poll(&is_done);
    if (!is_done) return;
    if (!status.is_ok()) fail(status);
    if (!outcome_.is_ok()) continue;
    block.span.end(lane_, route_.message,
                   {transfer::relay_block_bytes(size_bytes_, n_told_), static_cast<std::uint32_t>(n_told_),
                    static_cast<std::uint32_t>(n_blocks_)});
    tell(&block);
  }
}

void OutgoingRelay::tell(Block *block) {
  const int tag = wire::Channel::tag(wire::PrivateKind::kBlock, route_.number);
  const int code = wire::host().MPI_Isend(&block->note, sizeof block->note, MPI_BYTE, route_.peer, tag,
                                          wire::Channel::process().comm(), &block->request);
  if (code != MPI_SUCCESS) fail(wire::host_failure(code, "tell a receiver of a block"));
}

bool OutgoingRelay::is_told(Block *block) {
  if (block->request == MPI_REQUEST_NULL) return true;
  int is_done = 0;
  const int result = wire::host().MPI_Test(&block->request, &is_done, MPI_STATUS_IGNORE);
  if (result != MPI_SUCCESS) {
    block->request = MPI_REQUEST_NULL;
    fail(wire::host_failure(result, "tell a receiver of a block"));
  }
  return result != MPI_SUCCESS || is_done != 0;
}

// The receiver learns of it by a note without bytes.
void OutgoingRelay::fail(const Status &status) {
  if (!outcome_.is_ok()) return;
  outcome_ = status;
  send_no_block(route_.peer, route_.number);
}

}  // namespace sluice::ops
