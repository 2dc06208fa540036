// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "base/bad_peer.hpp"

namespace sluice::transfer {
namespace {

static_assert(std::is_trivially_copyable_v<Published> && std::is_trivially_copyable_v<StridedBlock>);
// They are compared as bytes.
static_assert(std::has_unique_object_representations_v<Published> &&
              std::has_unique_object_representations_v<StridedBlock>);

constexpr std::size_t kLineBytes = 128;  // two lines are fetched together by some processors

// In the lower half of a word that tells of an end.
constexpr unsigned kEndingBits = 8;
constexpr std::uint32_t kEndingMask = (std::uint32_t{1} << kEndingBits) - 1;
// In the lower half of a word that is a vote.
constexpr unsigned kVoteBits = 32 - Board::kTermBits;
constexpr std::uint32_t kVoteMask = (std::uint32_t{1} << kVoteBits) - 1;
static_assert(static_cast<std::uint32_t>(Vote::kNoVote) <= kVoteMask);
static_assert(Board::kPlans - 1 == std::numeric_limits<std::uint32_t>::max() >> kEndingBits);

// As a byte, since a bool of another value than these two is none.
bool is_bool(const bool &value) noexcept {
  std::uint8_t byte = 0;
  std::memcpy(&byte, &value, sizeof byte);
  return byte <= 1;
}

bool is_memory(std::uint64_t base_address, std::uint64_t size_bytes) noexcept {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
  return size_bytes <= kMostBytes && base_address <= std::numeric_limits<std::uint64_t>::max() - size_bytes;
}

}  // namespace

std::string_view Published::backend_name() const noexcept {
  return {backend, static_cast<std::size_t>(std::find(backend, backend + kNameBytes, '\0') - backend)};
}

bool Published::makes_sense(std::size_t most_blocks) const noexcept {
  return state <= State::kFailed && is_bool(feeds) && is_bool(is_in_place) && backend[kNameBytes - 1] == '\0' &&
         n_blocks <= most_blocks && is_memory(base_address, allocation_bytes) &&
         is_memory(target.base_address, target.allocation_bytes);
}

std::size_t Board::slot_bytes(int n_ranks) noexcept {
  const std::size_t bytes = sizeof(Published) + most_blocks(n_ranks) * sizeof(StridedBlock);
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

std::size_t Board::size_bytes(int n_ranks) noexcept {
  return static_cast<std::size_t>(n_ranks) * (sizeof(Flags) + kSlots * slot_bytes(n_ranks));
}

void Board::prepare(void *memory, int n_ranks) noexcept {
  auto *flags = static_cast<Flags *>(memory);
  for (int rank = 0; rank < n_ranks; ++rank) new (flags + rank) Flags{};
}

Board::Board(void *memory, int n_ranks, int rank) noexcept
    : flags_(static_cast<Flags *>(memory)),
      slots_(static_cast<std::byte *>(memory) + static_cast<std::size_t>(n_ranks) * sizeof(Flags)),
      n_ranks_(n_ranks),
      rank_(rank) {}

std::byte *Board::slot(std::uint64_t content, int rank) const noexcept {
  return slots_ + (static_cast<std::size_t>(rank) * kSlots + content % kSlots) * slot_bytes(n_ranks_);
}

// Once `rank` has published.
const std::byte *Board::content(std::uint64_t call, int rank) const noexcept {
  return slot(content_of(call, rank), rank);
}

bool Board::is_said_already(const Published &published, std::span<const StridedBlock> blocks) const noexcept {
  if (n_contents_ == 0 || n_last_blocks_ != blocks.size()) return false;
  const std::byte *said = slot(n_contents_, rank_);
  return std::memcmp(said, &published, sizeof published) == 0 &&
         (blocks.empty() || std::memcmp(said + sizeof published, blocks.data(), blocks.size_bytes()) == 0);
}

void Board::publish(std::uint64_t call, const Published &published, std::span<const StridedBlock> blocks) noexcept {
  if (!is_said_already(published, blocks)) {
    std::byte *own = slot(++n_contents_, rank_);
    std::memcpy(own, &published, sizeof published);
    if (!blocks.empty()) std::memcpy(own + sizeof published, blocks.data(), blocks.size_bytes());
    n_last_blocks_ = blocks.size();
  }
  own_contents_[call % kSlots] = n_contents_;
  flags_[rank_].content[call % kSlots].store(n_contents_, std::memory_order_relaxed);
  flags_[rank_].published.store(call, std::memory_order_release);
}

bool Board::have_all_published(std::uint64_t call) const noexcept {
  return std::all_of(flags_, flags_ + n_ranks_,
                     [call](const Flags &flags) { return flags.published.load(std::memory_order_acquire) >= call; });
}

// A rank publishes call c when all have ended c - kSlots, so before this one ends `call` none comes to call + kSlots.
std::optional<int> Board::find_impossible(std::uint64_t call) const noexcept {
  for (int rank = 0; rank < n_ranks_; ++rank) {
    if (flags_[rank].published.load(std::memory_order_acquire) - call >= kSlots) return rank;
  }
  return std::nullopt;
}

Published Board::published(std::uint64_t call, int rank) const noexcept {
  Published copy;
  std::memcpy(&copy, content(call, rank), sizeof copy);
  return copy;
}

StridedBlock Board::block(std::uint64_t call, int rank, const Published &said, std::size_t index) const noexcept {
  StridedBlock copy;
  if (said.n_blocks == 1) index = 0;
  if (index >= said.n_blocks || said.n_blocks > most_blocks(n_ranks_)) return copy;
  std::memcpy(&copy, content(call, rank) + sizeof(Published) + index * sizeof copy, sizeof copy);
  return copy;
}

bool Board::may_vote(std::uint64_t number) const noexcept {
  const std::uint64_t place = number % kVotes;
  // Who has come to the vote behind that one has heard it.
  if (number <= kVotes || !is_awaited_[place] || n_heard_ + kVotes > number) return true;
  const std::uint64_t next = number - kVotes + 1;
  return std::all_of(flags_, flags_ + n_ranks_, [next, this](const Flags &flags) {
    const std::uint64_t word = flags.votes[next % kVotes].load(std::memory_order_acquire);
    return &flags == flags_ + rank_ || is_of(next, word) || is_later_vote(next, word);
  });
}

void Board::vote(std::uint64_t number, Vote vote, std::uint32_t term) noexcept {
  const std::uint32_t said = term << kVoteBits | static_cast<std::uint32_t>(vote);
  is_awaited_[number % kVotes] = vote != Vote::kGone;
  flags_[rank_].votes[number % kVotes].store(tagged(number, said), std::memory_order_release);
}

std::optional<Voted> Board::outcome_of_vote(std::uint64_t number) noexcept {
  Voted all;
  for (int i = 0; i < n_ranks_; ++i) {
    const std::uint64_t word = flags_[i].votes[number % kVotes].load(std::memory_order_acquire);
    const bool has_voted = is_of(number, word);
    if (!has_voted && is_earlier_vote(number, word)) return std::nullopt;
    const auto said = static_cast<std::uint32_t>(word);
    const std::uint32_t vote = said & kVoteMask;
    Vote one = Vote::kNoVote;
    if (has_voted) {
      all.sum_of_terms += said >> kVoteBits;
      if (vote < static_cast<std::uint32_t>(Vote::kNoVote)) one = static_cast<Vote>(vote);
    } else {
      // Only what nobody waits for is written over.
      all.has_all_terms = false;
      if (is_later_vote(number, word)) one = Vote::kGone;
    }
    all.said |= std::uint32_t{1} << static_cast<unsigned>(one);
    if (one <= all.vote) continue;
    all.vote = one;
    all.rank = i;
  }
  n_heard_ = number;
  return all;
}

void Board::say_without_data(std::uint64_t number) noexcept {
  std::atomic<std::uint64_t> &place = flags_[rank_].votes[number % kVotes];
  const std::uint64_t said = place.load(std::memory_order_relaxed) & ~std::uint64_t{kVoteMask};
  is_awaited_[number % kVotes] = true;
  place.store(said | static_cast<std::uint64_t>(Vote::kGoneWithoutData), std::memory_order_release);
  std::atomic<std::uint64_t> &latest = flags_->without_data;
  std::uint64_t before = latest.load(std::memory_order_relaxed);
  while (before < number && !latest.compare_exchange_weak(before, number, std::memory_order_acq_rel)) {
  }
}

bool Board::is_without_data(std::uint64_t number, int rank) const noexcept {
  const std::uint64_t word = flags_[rank].votes[number % kVotes].load(std::memory_order_acquire);
  return is_of(number, word) && (word & kVoteMask) == static_cast<std::uint64_t>(Vote::kGoneWithoutData);
}

void Board::set_chunks(std::uint64_t call, std::uint32_t n_chunks) noexcept {
  flags_[rank_].chunks[call % kSlots].store(tagged(call, n_chunks), std::memory_order_release);
}

std::uint32_t Board::chunks_of(std::uint64_t call, int rank) const noexcept {
  const std::uint64_t value = flags_[rank].chunks[call % kSlots].load(std::memory_order_acquire);
  return is_of(call, value) ? static_cast<std::uint32_t>(value) : 0;
}

void Board::end(std::uint64_t call, Ending ending, std::uint32_t plan) noexcept {
  const std::uint32_t said = plan << kEndingBits | static_cast<std::uint32_t>(ending);
  flags_[rank_].ended[call % kSlots].store(tagged(call, said), std::memory_order_release);
}

std::optional<Board::Ended> Board::ended_of(std::uint64_t call, int rank) const noexcept {
  const std::uint64_t word = flags_[rank].ended[call % kSlots].load(std::memory_order_acquire);
  const bool has_ended = is_of(call, word);
  if (!has_ended && is_earlier(call, kSlots, word)) return std::nullopt;
  const auto said = static_cast<std::uint32_t>(word);
  const std::uint32_t ending = said & kEndingMask;
  const bool is_ending = has_ended && ending <= static_cast<std::uint32_t>(Ending::kFailed);
  return is_ending ? Ended{static_cast<Ending>(ending), said >> kEndingBits} : Ended{};
}

// Whoever says nonsense is not waited for, but the others are: they may be reading from here.
std::optional<Board::Outcome> Board::outcome(std::uint64_t call) noexcept {
  Outcome worst;
  std::optional<std::uint32_t> plan;
  for (int i = 0; i < n_ranks_; ++i) {
    const std::optional<Ended> ended = ended_of(call, i);
    if (!ended) return std::nullopt;
    Outcome one{ended->ending, i};
    // Of one that failed by itself there is no plan.
    const std::uint32_t heard_of = one.ending == Ending::kFailed ? ended->plan : 0;
    if (heard_of != 0 && heard_of <= static_cast<std::uint32_t>(n_ranks_)) one.rank = static_cast<int>(heard_of - 1);
    if (one.ending == Ending::kGood) {
      if (!plan) plan = ended->plan;
      if (ended->plan != *plan) one = {Ending::kFailed, i, true};
    }
    if (one.ending > worst.ending) worst = one;
  }
  settled_[call % kSlots] = call;
  return worst;
}

Status Heard::take(const Board &board, std::uint64_t call, const Published &own) {
  board_ = &board;
  call_ = call;
  said_.clear();
  said_.reserve(static_cast<std::size_t>(board.n_ranks()));
  for (int rank = 0; rank < board.n_ranks(); ++rank) {
    const Published &said = said_.emplace_back(rank == board.rank() ? own : board.published(call, rank));
    if (!said.makes_sense(Board::most_blocks(board.n_ranks()))) return nonsense_of(rank, "no rank says that");
  }
  return {};
}

Status nonsense_of(int rank, std::string_view what) {
  return bad_peer(
      fmt::format("what rank {} of the communicator wrote for the others, in memory that the ranks of "
                  "a node share, makes no sense: {}",
                  rank, what));
}

}  // namespace sluice::transfer
