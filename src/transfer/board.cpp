// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/board.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace sluice::transfer {
namespace {

static_assert(std::is_trivially_copyable_v<Published> && std::is_trivially_copyable_v<StridedBlock>);
// They are compared as bytes.
static_assert(std::has_unique_object_representations_v<Published> &&
              std::has_unique_object_representations_v<StridedBlock>);

constexpr std::size_t kLineBytes = 128;  // two lines are fetched together by some processors

}  // namespace

std::string_view Published::backend_name() const noexcept {
  return {backend, static_cast<std::size_t>(std::find(backend, backend + kNameBytes, '\0') - backend)};
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
  flags_[rank_].content[call % kSlots].store(n_contents_, std::memory_order_relaxed);
  flags_[rank_].published.store(call, std::memory_order_release);
}

bool Board::have_all_published(std::uint64_t call) const noexcept {
  return std::all_of(flags_, flags_ + n_ranks_,
                     [call](const Flags &flags) { return flags.published.load(std::memory_order_acquire) >= call; });
}

Published Board::published(std::uint64_t call, int rank) const noexcept {
  Published copy;
  std::memcpy(&copy, content(call, rank), sizeof copy);
  return copy;
}

StridedBlock Board::block(std::uint64_t call, int rank, std::size_t index) const noexcept {
  const std::byte *said = content(call, rank);
  std::uint32_t n_blocks = 0;
  std::memcpy(&n_blocks, said + offsetof(Published, n_blocks), sizeof n_blocks);
  StridedBlock copy;
  if (n_blocks == 1) index = 0;
  if (index >= n_blocks || n_blocks > most_blocks(n_ranks_)) return copy;
  std::memcpy(&copy, said + sizeof(Published) + index * sizeof copy, sizeof copy);
  return copy;
}

void Board::vote(std::uint64_t number, Vote vote) noexcept {
  flags_[rank_].votes[number % 2].store(tagged(number, static_cast<std::uint32_t>(vote)), std::memory_order_release);
}

bool Board::have_all_voted(std::uint64_t number) const noexcept {
  return std::all_of(flags_, flags_ + n_ranks_, [number](const Flags &flags) {
    return is_of(number, flags.votes[number % 2].load(std::memory_order_acquire));
  });
}

Vote Board::outcome_of_vote(std::uint64_t number) const noexcept {
  std::uint32_t most = 0;
  for (int i = 0; i < n_ranks_; ++i) {
    most = std::max(most, static_cast<std::uint32_t>(flags_[i].votes[number % 2].load(std::memory_order_relaxed)));
  }
  // Anything else is nothing that a rank says.
  return most <= static_cast<std::uint32_t>(Vote::kFailed) ? static_cast<Vote>(most) : Vote::kFailed;
}

void Board::set_chunks(std::uint64_t call, std::uint32_t n_chunks) noexcept {
  flags_[rank_].chunks[call % kSlots].store(tagged(call, n_chunks), std::memory_order_release);
}

std::uint32_t Board::chunks_of(std::uint64_t call, int rank) const noexcept {
  const std::uint64_t value = flags_[rank].chunks[call % kSlots].load(std::memory_order_acquire);
  return is_of(call, value) ? static_cast<std::uint32_t>(value) : 0;
}

void Board::end(std::uint64_t call, Ending ending) noexcept {
  flags_[rank_].ended[call % kSlots].store(tagged(call, static_cast<std::uint32_t>(ending)), std::memory_order_release);
}

bool Board::have_all_ended(std::uint64_t call) const noexcept {
  return std::all_of(flags_, flags_ + n_ranks_, [call](const Flags &flags) {
    return is_of(call, flags.ended[call % kSlots].load(std::memory_order_acquire));
  });
}

Ending Board::outcome(std::uint64_t call, int *rank) const noexcept {
  Ending worst = Ending::kGood;
  for (int i = 0; i < n_ranks_; ++i) {
    const auto ending = static_cast<std::uint32_t>(flags_[i].ended[call % kSlots].load(std::memory_order_acquire));
    // Anything else is nothing that a rank says.
    const Ending said =
        ending <= static_cast<std::uint32_t>(Ending::kFailed) ? static_cast<Ending>(ending) : Ending::kFailed;
    if (said <= worst) continue;
    worst = said;
    *rank = i;
  }
  return worst;
}

}  // namespace sluice::transfer
