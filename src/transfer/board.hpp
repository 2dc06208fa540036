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
//
// Others own the memory, and may write anything there at any time (docs/adr/0061). So each word is copied once, looked
// at, and used from the copy; what a rank said itself it knows, and does not read here.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "sluice/backend.h"
#include "transfer/strided.hpp"

namespace sluice::transfer {

// What a rank says of its buffers. Plain bytes. Its functions are pure.
struct Published {
  enum class State : std::uint8_t {
    kCannot,     // this rank stages, so all do
    kTakesPart,  // others may pull from it, and it can pull from them
    kFailed      // this rank has an error already
  };
  static constexpr std::size_t kNameBytes = 21;  // with what is before it a multiple of 8: no bytes between the members

  State state = State::kCannot;
  bool feeds = false;        // what it receives lies in the described allocation, in one run: others may pull it from
                             // here as it comes
  bool is_in_place = false;  // of a reduction: its result goes where its input is
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

  // Whose handles these are; as long as this lives.
  [[nodiscard]] std::string_view backend_name() const noexcept;
  // Whether a rank may have written that: each member is in its own range, and ends within it. Of copied bytes, before
  // a member is used. Hot.
  [[nodiscard]] bool makes_sense(std::size_t most_blocks) const noexcept;
};

// How a rank's part of a call ended. What is further down here counts for all.
enum class Ending : std::uint8_t {
  kGood,
  kShort,    // all stage, for the length of the call alone
  kStages,   // all stage: one cannot take part, or they do not agree
  kRefused,  // another rank's memory cannot be reached from here: all stage instead
  kFailed    // an error: the call ends with one on all ranks
};

// What a rank says of its buffers before a call, where it may be that nobody has to say more. What is further down here
// counts for all.
enum class Vote : std::uint8_t {
  kShort,            // it could take part, and has too little to do so for its own sake
  kLong,             // it has enough
  kCannot,           // it stages, so all do
  kFailed,           // it has an error already
  kGone,             // it waits for nobody, and may be past the call
  kGoneWithoutData,  // the same, and what it sends is not its data, for it could not bring them
  kNoVote            // no rank says it: a word that makes no sense
};

// What all have voted.
struct Voted {
  Vote vote = Vote::kShort;  // the furthest down; of kNoVote: `rank` said what no rank says
  int rank = 0;              // one that said it
  std::uint32_t said = 0;    // a bit for each Vote that a rank has said
  std::uint64_t sum_of_terms = 0;
  bool has_all_terms = true;  // not where a rank was gone so far that its term is not there any more

  // A rank has said it.
  [[nodiscard]] bool has(Vote one) const noexcept { return (said >> static_cast<unsigned>(one) & 1U) != 0; }
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
  [[nodiscard]] bool may_publish(std::uint64_t call) noexcept {
    return call <= kSlots || settled_[call % kSlots] == call - kSlots || outcome(call - kSlots).has_value();
  }
  // Tells the others. At most most_blocks(). Never blocks. Hot: what it says again costs the others nothing.
  void publish(std::uint64_t call, const Published &published, std::span<const StridedBlock> blocks) noexcept;
  [[nodiscard]] bool have_all_published(std::uint64_t call) const noexcept;
  // Once all have, and before this rank ends it: a rank whose number of calls is none that it can have come to, which
  // may not have published it; or none. Hot.
  [[nodiscard]] std::optional<int> find_impossible(std::uint64_t call) const noexcept;
  // Once all have: what `rank` said, and of those `said.n_blocks` its block `index`, or the one for all. Copies, to be
  // checked. A block that it has not is one of no bytes.
  [[nodiscard]] Published published(std::uint64_t call, int rank) const noexcept;
  [[nodiscard]] StridedBlock block(std::uint64_t call, int rank, const Published &said,
                                   std::size_t index) const noexcept;

  // Once all have: the number of what `rank` said. While it is that of an earlier call, so is all that was said.
  [[nodiscard]] std::uint64_t content_of(std::uint64_t call, int rank) const noexcept {
    if (rank == rank_) return own_contents_[call % kSlots];
    return flags_[rank].content[call % kSlots].load(std::memory_order_relaxed);
  }
  [[nodiscard]] int n_ranks() const noexcept { return n_ranks_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }

  // Votes have numbers of their own, the same on all ranks, from 1. A rank whose vote is kGone goes on to the next one;
  // any other votes again once all have voted. Never block. `term`, below kTerms, is a number that all hear the sum of.
  static constexpr unsigned kTermBits = 29;
  static constexpr std::uint32_t kTerms = std::uint32_t{1} << kTermBits;
  // Votes of a rank that the others still find: so many calls a rank may be ahead before its terms are lost.
  static constexpr std::uint64_t kVotes = 8;
  // Whether the place of this vote is free: nobody waits for what this rank said there. Hot.
  [[nodiscard]] bool may_vote(std::uint64_t number) const noexcept;
  void vote(std::uint64_t number, Vote vote, std::uint32_t term = 0) noexcept;
  // What counts for all, once all have voted, and until this rank votes again; until then none. Hot.
  [[nodiscard]] std::optional<Voted> outcome_of_vote(std::uint64_t number) noexcept;
  // This rank has voted kGone, or what lets it go on as all do, and has not its data. Before it sends anything.
  void say_without_data(std::uint64_t number) noexcept;
  // Whether `rank` has said so of that vote; of what reached this rank, until it votes again. Hot where none has ever.
  [[nodiscard]] bool has_any_without_data(std::uint64_t number) const noexcept {
    return flags_->without_data.load(std::memory_order_acquire) >= number;
  }
  [[nodiscard]] bool is_without_data(std::uint64_t number, int rank) const noexcept;

  // How many chunks have come here: for those that pull them from here. kNoMore: no further ones will.
  static constexpr std::uint32_t kNoMore = ~std::uint32_t{0};
  void set_chunks(std::uint64_t call, std::uint32_t n_chunks) noexcept;
  [[nodiscard]] std::uint32_t chunks_of(std::uint64_t call, int rank) const noexcept;

  // Ends this rank's part, of every call that it published. Nobody reads from here for this call after all have ended.
  // `plan`, below kPlans: what it was about to do; those that did different things have not read the same words.
  static constexpr std::uint32_t kPlans = std::uint32_t{1} << 24;
  void end(std::uint64_t call, Ending ending, std::uint32_t plan = 0) noexcept;
  // This rank has heard that `rank` failed, and says so too: whatever becomes of that rank's word, all hear a failure,
  // and of that rank.
  void pass_on_failure(std::uint64_t call, int rank) noexcept {
    end(call, Ending::kFailed, static_cast<std::uint32_t>(rank) + 1);
  }
  // How `rank` ended it, if it has: it will say no more of the call, so what is not there by then does not come. A word
  // that no rank says is kFailed.
  [[nodiscard]] std::optional<Ending> ending_of(std::uint64_t call, int rank) const noexcept {
    const std::optional<Ended> ended = ended_of(call, rank);
    return ended ? std::optional(ended->ending) : std::nullopt;
  }
  // The worst of the endings, and a rank that had it.
  struct Outcome {
    Ending ending = Ending::kGood;
    int rank = 0;
    bool is_of_two_plans = false;  // kFailed for that: ended well, and not by the same plan
  };
  // Of a call that this rank has ended, once all have; until then none. A word that no rank says is one of kFailed.
  [[nodiscard]] std::optional<Outcome> outcome(std::uint64_t call) noexcept;

 private:
  // What the others look at again and again.
  struct alignas(128) Flags {
    std::atomic<std::uint64_t> published;        // number of the last call
    std::atomic<std::uint64_t> content[kSlots];  // of each call: the number of what this rank says of it
    std::atomic<std::uint64_t> chunks[kSlots];   // number of the call and, in the lower half, the count
    std::atomic<std::uint64_t> ended[kSlots];    // number of the call and, in the lower half, plan and Ending
    // Number of the vote and, in the lower half, the term and the Vote; each in its place in turn. In a line of their
    // own: a rank that votes kGone writes there and reads nothing.
    alignas(128) std::atomic<std::uint64_t> votes[kVotes];
    // Of rank 0's: the greatest number of a vote whose caller was without data.
    std::atomic<std::uint64_t> without_data;
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

  struct Ended {
    Ending ending = Ending::kFailed;
    std::uint32_t plan = 0;
  };
  [[nodiscard]] std::optional<Ended> ended_of(std::uint64_t call, int rank) const noexcept;
  // How many votes `word`, in the place of vote `number`, is ahead of that.
  [[nodiscard]] static std::int32_t votes_ahead(std::uint64_t number, std::uint64_t word) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(word >> 32U) - static_cast<std::uint32_t>(number));
  }
  // A vote that came into that place later, or was there before. A rank that waits may be ahead of others by many.
  [[nodiscard]] static bool is_later_vote(std::uint64_t number, std::uint64_t word) noexcept {
    const std::int32_t ahead = votes_ahead(number, word);
    return ahead > 0 && ahead % static_cast<std::int32_t>(kVotes) == 0;
  }
  [[nodiscard]] static bool is_earlier_vote(std::uint64_t number, std::uint64_t word) noexcept {
    const std::int32_t ahead = votes_ahead(number, word);
    return word == 0 || (ahead < 0 && ahead % static_cast<std::int32_t>(kVotes) == 0);
  }
  // A word that was there before that of `number`, which comes into its place after that of `before`; 0: none yet.
  [[nodiscard]] static bool is_earlier(std::uint64_t number, std::uint64_t before, std::uint64_t tagged) noexcept {
    return number <= before ? tagged == 0 : is_of(number - before, tagged);
  }

  Flags *flags_;      // one for each rank
  std::byte *slots_;  // kSlots for each rank, used in turn
  int n_ranks_;
  int rank_;
  // What this rank knows without looking: the number of its last content, those of the calls, and which call of each
  // slot all have ended.
  std::uint64_t n_contents_ = 0;
  std::size_t n_last_blocks_ = 0;
  std::array<std::uint64_t, kSlots> own_contents_{};
  std::array<std::uint64_t, kSlots> settled_{};
  std::uint64_t n_heard_ = 0;              // the last vote of which this rank has the outcome: all have come to it
  std::array<bool, kVotes> is_awaited_{};  // what this rank said in that place: others may wait for it
};

// What all ranks said of one call, copied once, and looked at. One thread at a time.
class Heard {
 public:
  // Once all have published. `own`: what this rank said. Errors: what a rank said makes no sense. May throw
  // std::bad_alloc.
  [[nodiscard]] Status take(const Board &board, std::uint64_t call, const Published &own);

  // What take() has copied, by rank.
  [[nodiscard]] const Published &of(int rank) const noexcept { return said_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::span<const Published> all() const noexcept { return said_; }
  // Block `index` of another rank: each time another copy, to be checked.
  [[nodiscard]] StridedBlock block(int rank, std::size_t index) const noexcept {
    return board_->block(call_, rank, of(rank), index);
  }
  // Where it has one for each rank.
  [[nodiscard]] StridedBlock block_for_me(int rank) const noexcept {
    return block(rank, static_cast<std::size_t>(board_->rank()));
  }

 private:
  const Board *board_ = nullptr;
  std::uint64_t call_ = 0;
  std::vector<Published> said_;  // by rank
};

// The error for words of a rank that no rank writes. `what`: which, for people. Any thread. Errors: always that one,
// kBadPeer.
[[nodiscard]] Status nonsense_of(int rank, std::string_view what);

}  // namespace sluice::transfer
