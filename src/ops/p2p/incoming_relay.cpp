// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "base/bad_peer.hpp"
#include "ops/p2p/relay.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/status.hpp"

namespace sluice::ops {

Status IncomingRelay::begin(const Target &target, const Descriptor &descriptor, const std::byte *slots,
                            const BlockRoute &route) {
  target_ = target;
  operation_ = descriptor.operation;
  slots_ = slots;
  route_ = route;
  n_blocks_ = transfer::relay_blocks(target.size_bytes);
  if (Status status = queue_.acquire(target.place); !status.is_ok()) return status;
  Status status;
  while (status.is_ok() && n_posted_ < std::min<std::uint64_t>(n_blocks_, transfer::kRelaySlots)) status = post();
  if (!status.is_ok()) stop(status);
  return status;
}

Status IncomingRelay::post() {
  Block &block = at(n_posted_);
  block.note = {};
  const int tag = wire::Channel::tag(wire::PrivateKind::kBlock, route_.number);
  const int code = wire::host().MPI_Irecv(&block.note, sizeof block.note, MPI_BYTE, route_.peer, tag,
                                          wire::Channel::process().comm(), &block.request);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "receive a note about a block");
  ++n_posted_;
  return {};
}

bool IncomingRelay::advance() {
  if (!is_stopped_) hear();
  settle();
  const bool is_told = tell_taken();
  return is_stopped_ ? n_done_ == n_heard_ && is_told : n_told_ == n_blocks_ && is_told;
}

void IncomingRelay::hear() {
  while (n_heard_ < n_posted_) {
    Block &block = at(n_heard_);
    int is_done = 0;
    MPI_Status status;
    const int result = wire::host().MPI_Test(&block.request, &is_done, &status);
    if (result == MPI_SUCCESS && is_done == 0) return;
    if (result != MPI_SUCCESS) {
      block.request = MPI_REQUEST_NULL;
      return stop(wire::host_failure(result, "receive a note about a block"));
    }
    const auto came_bytes = static_cast<std::size_t>(wire::received_bytes(status));
    if (came_bytes == 0) {
      return stop(Status::error(ErrorKind::kBackend, "the sender could not read its memory; its own error says why"));
    }
    if (!tells_of(block.note, came_bytes, operation_, n_heard_)) {
      return stop(bad_peer("a sender tells of a block that it was not asked for, and the message is given up"));
    }
    take(&block);
    ++n_heard_;
  }
}

// A block is in its slot: its copy begins. After an error blocks are heard of and dropped, so that the sender is rid of
// them.
void IncomingRelay::take(Block *block) {
  if (!outcome_.is_ok()) return;
  const std::uint64_t offset = block->note.block * transfer::kRelayBlockBytes;
  const std::uint64_t bytes = transfer::relay_block_bytes(target_.size_bytes, block->note.block);
  const sluice_copy_t piece{target_.memory + offset, slots_ + block->note.slot * transfer::kRelayBlockBytes, bytes};
  block->span.begin();
  outcome_ = block->copy.begin(&queue_, {&piece, 1});
}

// The queue keeps the order of the copies.
void IncomingRelay::settle() {
  while (n_done_ < n_heard_) {
    Block &block = at(n_done_);
    bool is_done = false;
    Status status = block.copy.poll(&is_done);
    if (!is_done) return;
    if (outcome_.is_ok()) outcome_ = std::move(status);
    if (outcome_.is_ok()) {
      block.span.end(trace::Lane::kD2d, route_.message,
                     {transfer::relay_block_bytes(target_.size_bytes, n_done_), static_cast<std::uint32_t>(n_done_),
                      static_cast<std::uint32_t>(n_blocks_)});
    }
    ++n_done_;
    if (is_stopped_ || n_posted_ == n_blocks_) continue;
    if (Status posted = post(); !posted.is_ok()) stop(std::move(posted));
  }
}

// One message at a time tells of all that was taken meanwhile. True: none is under way.
bool IncomingRelay::tell_taken() {
  if (taken_request_ != MPI_REQUEST_NULL) {
    int is_done = 0;
    const int result = wire::host().MPI_Test(&taken_request_, &is_done, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS && is_done == 0) return false;
    if (result != MPI_SUCCESS) taken_request_ = MPI_REQUEST_NULL;
  }
  if (n_told_ == n_done_ || is_stopped_) return true;
  taken_ = {Control::Kind::kTaken, route_.number, operation_, n_done_};
  const int code = wire::host().MPI_Isend(&taken_, sizeof taken_, MPI_BYTE, route_.peer,
                                          wire::Channel::tag(wire::PrivateKind::kControl, 0),
                                          wire::Channel::process().comm(), &taken_request_);
  if (code != MPI_SUCCESS) {
    taken_request_ = MPI_REQUEST_NULL;
    stop(wire::host_failure(code, "tell a sender of the blocks that were taken"));
    return true;
  }
  n_told_ = n_done_;
  return false;
}

// Nothing more will come: receives that are posted are withdrawn.
void IncomingRelay::stop(Status status) {
  is_stopped_ = true;
  if (outcome_.is_ok()) outcome_ = std::move(status);
  for (Block &block : blocks_) {
    if (block.request == MPI_REQUEST_NULL) continue;
    if (wire::host().MPI_Cancel(&block.request) != MPI_SUCCESS ||
        wire::host().MPI_Wait(&block.request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      block.request = MPI_REQUEST_NULL;  // the outcome is an error already
    }
  }
}

}  // namespace sluice::ops
