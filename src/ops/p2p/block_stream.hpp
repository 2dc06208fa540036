// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a message that travels in blocks (CCGrid'23, section IV): copies and wire of different blocks
// overlap, each end through a few slots of staging memory of its own.
//
// The receiver has its slots and its first receives posted before it asks for blocks; the sender keeps at most as many
// blocks under way as it has slots. So memory is bounded at both ends, and no slot waits for another message's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/status.hpp"
#include "base/trace.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"
#include "device/staging_pool.hpp"
#include "ops/p2p/descriptor.hpp"
#include "transfer/blocks.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// Where the blocks' private messages go.
struct BlockRoute {
  int peer = 0;            // rank in MPI_COMM_WORLD
  int number = 0;          // of the sender's operation
  trace::Message message;  // what they are part of
};

inline constexpr std::uint32_t kBlockSlots = 4;
// The longest message of an int count, in bytes.
inline constexpr std::uint64_t kLargestInt = std::numeric_limits<int>::max();

// Has `peer`, which waits for blocks of the operation `number` of this process, wait for no more: a message without
// bytes, for which the host MPI does not wait. A message that the host MPI refuses is a warning, because the receiver
// then waits for ever. Any thread.
void send_no_block(int peer, int number);

// The sender's end: copies blocks down and sends them; those of host memory from where they lie. One thread at a time.
class OutgoingBlocks {
 public:
  // Sends the first `n_blocks` of the blocks of `data`, which lies in `place`, through staging memory of `memory`.
  // Everything stays valid until advance() is done. Errors show in advance().
  void begin(const device::Place &place, const std::byte *data, StagingMemory memory, const transfer::BlockPlan &plan,
             std::uint32_t n_blocks, const BlockRoute &route);
  // There is nothing to send because of `why`, which the receiver is told as of a block that could not be copied.
  void refuse(const BlockRoute &route, const Status &why);
  // True when all blocks are with the host MPI and their slots are free. Never blocks.
  [[nodiscard]] bool advance();
  // Whether a copy or the host MPI failed: the receiver has been told by an empty block.
  [[nodiscard]] const Status &outcome() const noexcept { return outcome_; }

 private:
  struct Slot {
    device::StagingLease lease;
    const std::byte *payload = nullptr;  // what is sent: in `lease`, or the program's
    device::PendingCopy copy;
    MPI_Request request = MPI_REQUEST_NULL;
    trace::Span span;  // of the copy or of the request, whichever is under way
    std::uint32_t block = 0;
    bool is_used = false;
    bool is_sent = false;
  };
  void start_copies();
  void send_copied();
  void reclaim();
  [[nodiscard]] bool is_in_host_memory() const noexcept { return place_.kind == MemoryKind::kPinned; }
  [[nodiscard]] Status start_copy(Slot *slot, std::uint32_t block);
  void send(Slot *slot, std::uint64_t size_bytes);
  void end_span(Slot *slot, trace::Lane lane) const noexcept;
  void fail(const Status &status);

  device::Place place_;
  const std::byte *data_ = nullptr;
  StagingMemory memory_ = StagingMemory::kMalloc;
  transfer::BlockPlan plan_;
  BlockRoute route_;
  std::uint32_t n_blocks_ = 0;
  std::uint32_t n_copied_ = 0;  // blocks whose copy was begun
  std::uint32_t n_sent_ = 0;    // blocks given to the host MPI
  Status outcome_;
  device::Queue queue_;  // outlives the copies in the slots
  std::array<Slot, kBlockSlots> slots_;
};

// The receiver's end: receives blocks and copies them up. One thread at a time.
class IncomingBlocks {
 public:
  // Where the payload goes: `capacity_bytes` at `memory`, which lies in `place` (kind kHost: the CPU may touch it).
  struct Target {
    device::Place place;
    std::byte *memory = nullptr;
    std::uint64_t capacity_bytes = 0;
    StagingMemory staging_memory = StagingMemory::kMalloc;
    std::byte *head = nullptr;  // where the first kDescriptorBytes go instead (Landing)
  };

  // Posts the first receives. Then the sender may be asked for n_blocks(). Errors: no queue, no staging memory, or the
  // host MPI refuses a receive; those before it are posted.
  [[nodiscard]] Status begin(const Target &target, const transfer::BlockPlan &plan, const BlockRoute &route);
  // How many blocks have to come: those that the target has room for, the last of them perhaps in part.
  [[nodiscard]] std::uint32_t n_blocks() const noexcept { return n_blocks_; }
  // True when all that fits is in place, or nothing more will come. Never blocks.
  [[nodiscard]] bool advance();
  [[nodiscard]] const Status &outcome() const noexcept { return outcome_; }

 private:
  struct Slot {
    device::StagingLease lease;
    device::PendingCopy copy;
    MPI_Request request = MPI_REQUEST_NULL;
    trace::Span span;  // of the copy or of the request, whichever is under way
    std::uint32_t block = 0;
    bool is_posted = false;
    bool is_copying = false;
  };
  [[nodiscard]] Status post(Slot *slot, std::uint32_t block);
  [[nodiscard]] bool is_direct(std::uint32_t block) const noexcept;
  void put(std::uint64_t offset_bytes, const std::byte *from, std::uint64_t size_bytes) const noexcept;
  void end_span(Slot *slot, trace::Lane lane) const noexcept;
  [[nodiscard]] std::uint64_t wanted_bytes(std::uint32_t block) const noexcept;
  void take(Slot *slot);
  void settle(Slot *slot);
  void stop(Status status);

  Target target_;
  transfer::BlockPlan plan_;
  BlockRoute route_;
  std::uint32_t n_blocks_ = 0;
  std::uint32_t n_posted_ = 0;
  std::uint32_t n_arrived_ = 0;  // blocks taken from the host MPI, in order
  std::uint32_t n_done_ = 0;
  bool is_stopped_ = false;
  Status outcome_;
  device::Queue queue_;  // outlives the copies in the slots
  std::array<Slot, kBlockSlots> slots_;
};

}  // namespace sluice::ops
