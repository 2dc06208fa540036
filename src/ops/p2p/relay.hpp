// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a message that goes by way of exportable memory (RelayRing): the sender's device copies blocks into
// slots, out of memory of its own or of pinned host memory, and the receiver's device copies them out of there. Copies
// of different blocks overlap.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "base/trace.hpp"
#include "device/queue.hpp"
#include "ops/p2p/block_stream.hpp"
#include "ops/p2p/descriptor.hpp"
#include "ops/p2p/relay_ring.hpp"
#include "transfer/relay.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// The sender's end. One thread at a time, unless said otherwise.
class OutgoingRelay {
 public:
  // Brings the first `n_blocks` blocks of the `size_bytes` at `data`, which the device of `place` reaches, into slots
  // of `ring`.
  // Everything stays valid until advance() is done. Errors show in advance().
  void begin(std::shared_ptr<RelayRing> ring, const device::Place &place, const std::byte *data,
             std::uint64_t size_bytes, std::uint64_t n_blocks, const BlockRoute &route);
  // The receiver has copied `n_blocks`, as it says. Any thread.
  void note_taken(std::uint64_t n_blocks) noexcept;
  // True when the receiver has taken all, or after an error, and no slot is held. Never blocks.
  [[nodiscard]] bool advance();
  // Whether a copy or the host MPI failed: the receiver has been told by an empty note.
  [[nodiscard]] const Status &outcome() const noexcept { return outcome_; }

 private:
  struct Block {
    std::uint32_t slot = 0;
    device::PendingCopy copy;
    transfer::RelayNote note;
    MPI_Request request = MPI_REQUEST_NULL;
    trace::Span span;
  };
  [[nodiscard]] Block &at(std::uint64_t block) noexcept { return blocks_[block % transfer::kRelaySlots]; }
  void reclaim();
  void start_copies();
  void tell_of_copied();
  void tell(Block *block);
  [[nodiscard]] bool is_told(Block *block);
  void fail(const Status &status);

  std::shared_ptr<RelayRing> ring_;
  const std::byte *data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t n_blocks_ = 0;
  trace::Lane lane_ = trace::Lane::kD2d;
  std::uint64_t n_begun_ = 0;     // blocks whose copy was begun
  std::uint64_t n_told_ = 0;      // blocks that the receiver was told of, or that ended behind an error
  std::uint64_t n_returned_ = 0;  // blocks whose slots are given back
  std::atomic<std::uint64_t> n_taken_{0};
  BlockRoute route_;
  Status outcome_;
  device::Queue queue_;  // outlives the copies
  std::array<Block, transfer::kRelaySlots> blocks_;
};

// The receiver's end. One thread at a time.
class IncomingRelay {
 public:
  // Where the payload goes: `size_bytes` at `memory`, which a queue of `place` reaches.
  struct Target {
    device::Place place;
    std::byte *memory = nullptr;
    std::uint64_t size_bytes = 0;
  };
  // Posts the first receives of notes about the message that `descriptor` tells of, whose slots are mapped at `slots`
  // until this is gone. Then the sender may be asked for n_blocks(). Errors: nothing was begun.
  [[nodiscard]] Status begin(const Target &target, const Descriptor &descriptor, const std::byte *slots,
                             const BlockRoute &route);
  [[nodiscard]] std::uint64_t n_blocks() const noexcept { return n_blocks_; }
  // True when all is in place and the sender knows of it, or nothing more will come. Never blocks.
  [[nodiscard]] bool advance();
  [[nodiscard]] const Status &outcome() const noexcept { return outcome_; }

 private:
  struct Block {
    transfer::RelayNote note;
    MPI_Request request = MPI_REQUEST_NULL;
    device::PendingCopy copy;
    trace::Span span;
  };
  [[nodiscard]] Block &at(std::uint64_t block) noexcept { return blocks_[block % transfer::kRelaySlots]; }
  [[nodiscard]] Status post();
  void hear();
  void take(Block *block);
  void settle();
  [[nodiscard]] bool tell_taken();
  void stop(Status status);

  Target target_;
  std::uint64_t operation_ = 0;
  const std::byte *slots_ = nullptr;
  BlockRoute route_;
  std::uint64_t n_blocks_ = 0;
  std::uint64_t n_posted_ = 0;
  std::uint64_t n_heard_ = 0;  // of notes
  std::uint64_t n_done_ = 0;   // copied, or dropped behind an error
  std::uint64_t n_told_ = 0;   // of these the sender knows
  bool is_stopped_ = false;
  Control taken_;
  MPI_Request taken_request_ = MPI_REQUEST_NULL;
  Status outcome_;
  device::Queue queue_;  // outlives the copies
  std::array<Block, transfer::kRelaySlots> blocks_;
};

}  // namespace sluice::ops
