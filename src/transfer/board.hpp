// SPDX-License-Identifier: BSD-3-Clause
// Board: what the ranks of one node tell each other during a collective operation, in memory that they share: where
// their device buffers are, how far each has come, and how it ended. Without MPI.
//
// Each rank writes to its own part alone. A call has a number, the same on all ranks, from 1. Several may be under way,
// kSlots at most: a rank publishes for a call once all ranks have ended the one kSlots before it (may_publish) and it
// has read how that ended. So a reader never finds what a later call wrote.
//
// What a rank says of call after call is often the same, and then it is not written again: each call has the number of
// its content, which lies in one of kSlots places in turn. Contents are numbered in the order of calls, so the one that
// is written over was last said of a call at least kSlots before. Readers find the same lines in their own caches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/backend.h"
#include "transfer/strided.hpp"

namespace sluice::transfer {

// What a rank says of its buffers. Plain bytes.
struct Published {
  enum class State : std::uint8_t {
    kCannot,     // this rank stages, so all do
    kTakesPart,  // others may pull from it, and it can pull from them
    kFailed      // this rank has an error already
  };
  static constexpr std::size_t kNameBytes = 20;  // with what is before it a multiple of 8: no bytes between the members

  State state = State::kCannot;
  bool feeds = false;        // what it receives lies in the described allocation, in one run: others may pull it from
                             // here as it comes
  bool is_in_place = false;  // of a reduction: its result goes where its input is
  std::uint8_t n_rows = 1;   // of a broadcast's root: of a chain, where there is one
  char backend[kNameBytes] = {};       // whose memory its buffers are; empty: it has none
  std::uint32_t n_blocks = 0;          // one for each rank or destination, or one for all, or none
  std::uint32_t pair = 0;              // of a reduction: what it computes
  std::uint64_t largest_bytes = 0;     // payload of the longer of its two buffers
  std::uint64_t chunk_bytes = 0;       // of a broadcast's root: how it is cut for a chain, or 0
  std::uint64_t broadcast_bytes = 0;   // of a broadcast: payload
  sluice_ipc_handle_t handle{};        // of the allocation that holds what others pull
  std::uint64_t base_address = 0;      // of that allocation, in that process
  std::uint64_t allocation_bytes = 0;  // 0: there is nothing to pull

  // Of a reduction: whose memory that is (device/identity.hpp), and where others put its result.
  std::uint64_t device_identity = 0;
  struct Target {
    sluice_ipc_handle_t handle{};
    std::uint64_t base_address = 0;  // of the allocation, in that process
    std::uint64_t allocation_bytes = 0;
    std::uint64_t offset_bytes = 0;  // of the result's first byte, from the first of the allocation
  } target;

  [[nodiscard]] std::string_view backend_name() const noexcept;
};

// How a rank's part of a call ended.
enum class Ending : std::uint8_t {
  kGood,
  kRefused,  // another rank's memory cannot be reached from here: all stage instead
  kFailed    // an error: the call ends with one on all ranks
};

// What a rank says of its buffers before a call, where it may be that nobody has to say more. What is further down here
// counts for all.
enum class Vote : std::uint8_t {
  kShort,   // it could take part, and has too little to do so for its own sake
  kLong,    // it has enough
  kCannot,  // it stages, so all do
  kFailed   // it has an error already
};

// One rank's view. One thread at a time. The memory outlives it.
class Board {
 public:
  static constexpr int kMostRanks = 256;
  // Blocks of a call at one rank: one for each rank, or, where ranks are neighbours more than once, some more.
  [[nodiscard]] static constexpr std::size_t most_blocks(int n_ranks) noexcept {
    constexpr int kMostEdges = 64;
    return static_cast<std::size_t>(n_ranks > kMostEdges ? n_ranks : kMostEdges);
  }
  [[nodiscard]] static std::size_t size_bytes(int n_ranks) noexcept;
  // Makes `memory`, zeroed, aligned to a page and of size_bytes(), a board for `n_ranks`; by one rank, before any other
  // uses it.
  static void prepare(void *memory, int n_ranks) noexcept;

  Board(void *memory, int n_ranks, int rank) noexcept;

  // Calls under way at the same time.
  static constexpr std::uint64_t kSlots = 4;

  // Whether the slot of call `call` is free. A call is published after the one before it.
  [[nodiscard]] bool may_publish(std::uint64_t call) const noexcept {
    return call <= kSlots || have_all_ended(call - kSlots);
  }
  // Tells the others. At most most_blocks(). Never blocks. Hot: what it says again costs the others nothing.
  void publish(std::uint64_t call, const Published &published, std::span<const StridedBlock> blocks) noexcept;
  [[nodiscard]] bool have_all_published(std::uint64_t call) const noexcept;
  // Once all have: what `rank` said, and its block `index`, or the one for all. Copies, to be checked: others own the
  // memory. A block that it has not is one of no bytes.
  [[nodiscard]] Published published(std::uint64_t call, int rank) const noexcept;
  [[nodiscard]] StridedBlock block(std::uint64_t call, int rank, std::size_t index) const noexcept;
  // Where it has one for each rank.
  [[nodiscard]] StridedBlock block_for_me(std::uint64_t call, int rank) const noexcept {
    return block(call, rank, static_cast<std::size_t>(rank_));
  }

  // Once all have: the number of what `rank` said. While it is that of an earlier call, so is all that was said.
  [[nodiscard]] std::uint64_t content_of(std::uint64_t call, int rank) const noexcept {
    return flags_[rank].content[call % kSlots].load(std::memory_order_relaxed);
  }
  [[nodiscard]] int n_ranks() const noexcept { return n_ranks_; }

  // Votes have numbers of their own, the same on all ranks, from 1; a rank votes again once all have voted. Never
  // block.
  void vote(std::uint64_t number, Vote vote) noexcept;
  [[nodiscard]] bool have_all_voted(std::uint64_t number) const noexcept;
  // Once all have, and until this rank votes again.
  [[nodiscard]] Vote outcome_of_vote(std::uint64_t number) const noexcept;

  // How many chunks have come here: for those that pull them from here. kNoMore: no further ones will.
  static constexpr std::uint32_t kNoMore = ~std::uint32_t{0};
  void set_chunks(std::uint64_t call, std::uint32_t n_chunks) noexcept;
  [[nodiscard]] std::uint32_t chunks_of(std::uint64_t call, int rank) const noexcept;

  // Ends this rank's part, of every call that it published. Nobody reads from here for this call after all have ended.
  void end(std::uint64_t call, Ending ending) noexcept;
  [[nodiscard]] bool have_all_ended(std::uint64_t call) const noexcept;
  // Once all have: the worst of the endings, and a rank that had it.
  [[nodiscard]] Ending outcome(std::uint64_t call, int *rank) const noexcept;

 private:
  // What the others look at again and again.
  struct alignas(128) Flags {
    std::atomic<std::uint64_t> published;        // number of the last call
    std::atomic<std::uint64_t> content[kSlots];  // of each call: the number of what this rank says of it
    std::atomic<std::uint64_t> chunks[kSlots];   // number of the call and, in the lower half, the count
    std::atomic<std::uint64_t> ended[kSlots];    // number of the call and, in the lower half, the Ending
    // Number of the vote and, in the lower half, the Vote. In turns: the next one may be there before all have read
    // this one, the one after it not, because all vote in between.
    std::atomic<std::uint64_t> votes[2];
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "flags are shared between processes");

  [[nodiscard]] static std::size_t slot_bytes(int n_ranks) noexcept;
  [[nodiscard]] std::byte *slot(std::uint64_t content, int rank) const noexcept;
  [[nodiscard]] const std::byte *content(std::uint64_t call, int rank) const noexcept;
  [[nodiscard]] bool is_said_already(const Published &published, std::span<const StridedBlock> blocks) const noexcept;
  [[nodiscard]] static std::uint64_t tagged(std::uint64_t call, std::uint32_t value) noexcept {
    return call << 32U | value;
  }
  [[nodiscard]] static bool is_of(std::uint64_t call, std::uint64_t tagged) noexcept {
    return tagged >> 32U == (call & ~std::uint32_t{0});
  }

  Flags *flags_;      // one for each rank
  std::byte *slots_;  // kSlots for each rank, used in turn
  int n_ranks_;
  int rank_;
  std::uint64_t n_contents_ = 0;  // of this rank: the number of the last
  std::size_t n_last_blocks_ = 0;
};

}  // namespace sluice::transfer
