// SPDX-License-Identifier: BSD-3-Clause
// Words on the board that no rank writes (docs/adr/0061): each is an error, or within what it names, and none is waited
// for. What a rank said itself counts, whatever others write there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "transfer/board.hpp"

namespace sluice::transfer::board_words_test {
namespace {

// Two ranks of this process, and the memory between them, not a byte longer than it has to be. Rank 1's words are bad.
class BoardWords : public ::testing::Test {
 protected:
  static constexpr int kRanks = 2;
  static constexpr std::uint64_t kAllocationBytes = 1000;
  static constexpr std::size_t kFlagWords = 32;

  struct Free {
    void operator()(void *memory) const { std::free(memory); }  // NOLINT: as aligned_alloc() has it
  };

  BoardWords() { Board::prepare(memory_.get(), kRanks); }

  Published word() const {
    Published said;
    said.state = Published::State::kTakesPart;
    said.backend[0] = 'x';
    said.n_blocks = kRanks;
    said.base_address = 4096;
    said.allocation_bytes = kAllocationBytes;
    return said;
  }

  // Both publish the next call.
  void publish() {
    ++call_;
    const std::vector<StridedBlock> blocks(kRanks, {10, 5, 20, 4});
    good_.publish(call_, word(), blocks);
    bad_.publish(call_, word(), blocks);
  }
  void end() {
    good_.end(call_, Ending::kGood);
    bad_.end(call_, Ending::kGood);
    ASSERT_TRUE(good_.outcome(call_));
    ASSERT_TRUE(bad_.outcome(call_));
  }

  std::uint64_t *flags_of(int rank) {
    return static_cast<std::uint64_t *>(memory_.get()) + static_cast<std::size_t>(rank) * kFlagWords;
  }
  static constexpr std::size_t kChunks = 1 + Board::kSlots;
  static constexpr std::size_t kEnded = kChunks + Board::kSlots;
  static constexpr std::size_t kVotes = 16;  // a line of their own

  std::unique_ptr<void, Free> memory_{std::aligned_alloc(128, Board::size_bytes(kRanks))};
  Board good_{memory_.get(), kRanks, 0};
  Board bad_{memory_.get(), kRanks, 1};
  std::uint64_t call_ = 0;
};

// Every word of the memory in its turn, by bits, by bytes, and whole; each time all is looked at that a call looks at.
TEST_F(BoardWords, AreWithinWhatTheyName_WhateverTheyAre) {
  constexpr int kChanges = 10'000;
  constexpr std::array<std::uint64_t, 8> kWords = {
      0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 62, std::uint64_t{1} << 32, 1000, 0x80FF};
  std::mt19937_64 dice(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  const std::size_t n_words = Board::size_bytes(kRanks) / sizeof(std::uint64_t);
  const std::size_t n_said = (sizeof(Published) + kRanks * sizeof(StridedBlock)) / sizeof(std::uint64_t);
  const std::size_t n_slot_words = (n_words - kRanks * kFlagWords) / (kRanks * Board::kSlots);
  const std::size_t first_said = kRanks * kFlagWords + (Board::kSlots + 1) * n_slot_words;
  auto *const words = static_cast<std::uint64_t *>(memory_.get());
  int n_refused = 0;
  int n_believed = 0;
  for (int i = 0; i < kChanges; ++i) {
    publish();
    // Half of them in what rank 1 has said, which is the same each time, and so is its place.
    const std::size_t at =
        i % 2 == 0 ? static_cast<std::size_t>(i / 2) % n_words : first_said + static_cast<std::size_t>(i / 2) % n_said;
    const std::uint64_t before = words[at];
    const std::uint64_t way = dice() % 4;
    if (way == 0) words[at] = dice();
    if (way == 1) words[at] ^= std::uint64_t{1} << dice() % 64;
    if (way == 2) words[at] = kWords[dice() % kWords.size()];
    if (way == 3) words[at] += dice() % 4096;
    if (good_.have_all_published(call_) && !good_.find_impossible(call_)) {
      Heard heard;
      const Status status = heard.take(good_, call_, word());
      ++(status.is_ok() ? n_believed : n_refused);
      EXPECT_EQ(heard.of(0).base_address, word().base_address);
      if (status.is_ok()) {
        const Published &said = heard.of(1);
        EXPECT_LE(said.state, Published::State::kFailed);
        EXPECT_LE(said.n_blocks, Board::most_blocks(kRanks));
        EXPECT_GE(said.base_address + said.allocation_bytes, said.base_address);
        EXPECT_LT(said.backend_name().size(), Published::kNameBytes);
        for (std::size_t index = 0; index <= said.n_blocks; ++index) {
          const StridedBlock block = heard.block(1, index);
          if (!block.is_within(said.allocation_bytes) || block.n_runs == 0) continue;
          EXPECT_LE(block.size_bytes() / block.n_runs, said.allocation_bytes);
          const std::uint64_t last =
              block.offset_bytes + (block.n_runs - 1) * static_cast<std::uint64_t>(block.stride_bytes);
          EXPECT_LE(block.offset_bytes + block.run_bytes, said.allocation_bytes);
          EXPECT_LE(last + block.run_bytes, said.allocation_bytes);
        }
      }
    }
    static_cast<void>(good_.chunks_of(call_, 1));
    static_cast<void>(good_.outcome(call_));
    words[at] = before;
    end();
    if (HasFailure()) FAIL() << "change " << i << " of word " << at;
  }
  EXPECT_GT(n_refused, kChanges / 100);
  EXPECT_GT(n_believed, kChanges / 2);
}

TEST_F(BoardWords, AreNoBools_WhenTheyAreOtherBytes) {
  for (const std::size_t member :
       {offsetof(Published, feeds), offsetof(Published, is_in_place), offsetof(Published, state)}) {
    Published said = word();
    EXPECT_TRUE(said.makes_sense(kRanks));
    reinterpret_cast<unsigned char *>(&said)[member] = 77;
    EXPECT_FALSE(said.makes_sense(kRanks)) << "byte " << member;
  }
  Published endless = word();
  std::memset(endless.backend, 'x', sizeof endless.backend);
  EXPECT_FALSE(endless.makes_sense(kRanks));
  Published beyond = word();
  beyond.base_address = ~std::uint64_t{0} - 10;
  EXPECT_FALSE(beyond.makes_sense(kRanks));
}

TEST_F(BoardWords, OfACallThatIsToCome_AreImpossible) {
  publish();
  EXPECT_FALSE(good_.find_impossible(call_));
  flags_of(1)[0] = call_ + Board::kSlots - 1;  // as far ahead as another can be
  EXPECT_FALSE(good_.find_impossible(call_));
  for (const std::uint64_t number : {call_ + Board::kSlots, call_ - 1, ~std::uint64_t{0}}) {
    flags_of(1)[0] = number;
    EXPECT_EQ(good_.find_impossible(call_), 1) << number;
  }
}

TEST_F(BoardWords, OfAnEnd_AreFailures_WhereNoRankSaysThem) {
  publish();
  good_.end(call_, Ending::kGood);
  EXPECT_FALSE(good_.outcome(call_));
  std::uint64_t &ended = flags_of(1)[kEnded + call_ % Board::kSlots];
  for (const std::uint64_t value :
       {call_ << 32U | 77, (call_ + 1) << 32U, (call_ + Board::kSlots) << 32U, std::uint64_t{1}}) {
    ended = value;
    const std::optional<Board::Outcome> outcome = good_.outcome(call_);
    ASSERT_TRUE(outcome) << value;
    EXPECT_EQ(outcome->ending, Ending::kFailed);
    EXPECT_EQ(outcome->rank, 1);
  }
}

TEST_F(BoardWords, OfAVote_AreNone_WhereNoRankSaysThem) {
  for (std::uint64_t number = 1; number <= 4; ++number) {
    good_.vote(number, Vote::kShort);
    EXPECT_FALSE(good_.outcome_of_vote(number));
    std::uint64_t &vote = flags_of(1)[kVotes + number % Board::kVotes];
    const std::uint64_t before = vote;
    for (const std::uint64_t value : {number << 32U | 7, (number + 1) << 32U, (number + 2) << 32U}) {
      vote = value;
      const std::optional<Voted> outcome = good_.outcome_of_vote(number);
      ASSERT_TRUE(outcome) << value;
      EXPECT_EQ(outcome->vote, Vote::kNoVote) << value;
      EXPECT_EQ(outcome->rank, 1);
    }
    vote = before;
    bad_.vote(number, Vote::kLong);
    ASSERT_TRUE(good_.outcome_of_vote(number));
    EXPECT_EQ(good_.outcome_of_vote(number)->vote, Vote::kLong);
  }
}

// Ranks that have read different words have different plans, and hear of it.
TEST_F(BoardWords, ThatRanksReadDifferently_EndTheCallOnAll) {
  publish();
  good_.end(call_, Ending::kGood, 1);
  bad_.end(call_, Ending::kGood, 2);
  for (Board *board : {&good_, &bad_}) {
    const std::optional<Board::Outcome> outcome = board->outcome(call_);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->ending, Ending::kFailed);
    EXPECT_TRUE(outcome->is_of_two_plans);
  }
  publish();
  good_.end(call_, Ending::kGood, 1);
  bad_.end(call_, Ending::kStages, 2);
  EXPECT_EQ(good_.outcome(call_)->ending, Ending::kStages);
}

// A slot is free when all have ended its call, and stays so.
TEST_F(BoardWords, OfAnEnd_KeepNoSlot_OnceAllHaveEnded) {
  for (std::uint64_t i = 0; i < Board::kSlots; ++i) publish();
  for (std::uint64_t call = 1; call <= Board::kSlots; ++call) {
    good_.end(call, Ending::kGood);
    bad_.end(call, Ending::kGood);
  }
  ASSERT_TRUE(good_.outcome(1));
  flags_of(1)[kEnded + 1] = 0;
  EXPECT_TRUE(good_.may_publish(1 + Board::kSlots));
}

}  // namespace
}  // namespace sluice::transfer::board_words_test
