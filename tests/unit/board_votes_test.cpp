// SPDX-License-Identifier: BSD-3-Clause
// Votes on the board (docs/adr/0068): of ranks that wait for all, and of ranks that go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "shared_board.hpp"

namespace sluice::transfer::board_votes_test {
namespace {

// One vote after the other, with nothing in between that the ranks wait for each other in.
TEST(BoardVotes, ShowsEachVote_WhenRanksRaceAhead) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kVotes = 200;
  const auto vote_of = [](int rank, std::uint64_t number) {
    return static_cast<Vote>(number * 7 / (static_cast<std::uint64_t>(rank) + 2) % 4);
  };
  const auto term_of = [](int rank, std::uint64_t number) {
    return Board::kTerms - 1 - static_cast<std::uint32_t>(number * 5 + static_cast<std::uint64_t>(rank));
  };
  const auto body = [&](Board *own, int rank, int *n_wrong) {
    Board &board = *own;
    for (std::uint64_t number = 1; number <= kVotes; ++number) {
      board.vote(number, vote_of(rank, number), term_of(rank, number));
      std::optional<Voted> outcome;
      wait_until([&] { return (outcome = board.outcome_of_vote(number)).has_value(); });
      Vote most = Vote::kShort;
      std::uint64_t sum = 0;
      for (int other = 0; other < kRanks; ++other) {
        most = std::max(most, vote_of(other, number));
        sum += term_of(other, number);
      }
      *n_wrong += outcome->vote == most && outcome->sum_of_terms == sum ? 0 : 1;
    }
  };
  EXPECT_EQ(count_wrong(kRanks, body), std::vector<int>(kRanks, 0));
}

TEST(BoardVotes, HasNoOutcome_UntilAllHaveVoted) {
  const SharedMemory memory(2);
  Board one(memory.data(), 2, 0);
  Board other(memory.data(), 2, 1);
  for (std::uint64_t number = 1; number <= 5; ++number) {
    EXPECT_FALSE(one.outcome_of_vote(number));
    one.vote(number, Vote::kShort, 3);
    EXPECT_FALSE(one.outcome_of_vote(number)) << "vote " << number;
    other.vote(number, number % 2 == 0 ? Vote::kShort : Vote::kLong, Board::kTerms - 1);
    for (Board *board : {&one, &other}) {
      const std::optional<Voted> outcome = board->outcome_of_vote(number);
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->vote, number % 2 == 0 ? Vote::kShort : Vote::kLong);
      EXPECT_EQ(outcome->sum_of_terms, std::uint64_t{Board::kTerms} + 2);
    }
  }
}

// A rank that is gone waits for nobody, and is found gone however far it is ahead; what it said and others wait for is
// not written over.
TEST(BoardVotes, FindsARankGone_HoweverFarItIsAhead) {
  const SharedMemory memory(2);
  Board slow(memory.data(), 2, 0);
  Board fast(memory.data(), 2, 1);
  for (std::uint64_t number = 1; number <= 3 * Board::kVotes; ++number) {
    ASSERT_TRUE(fast.may_vote(number));
    fast.vote(number, Vote::kGone, 5);
  }
  for (std::uint64_t number = 1; number <= 3 * Board::kVotes; ++number) {
    slow.vote(number, Vote::kShort, 3);
    const std::optional<Voted> outcome = slow.outcome_of_vote(number);
    ASSERT_TRUE(outcome) << "vote " << number;
    EXPECT_EQ(outcome->vote, Vote::kGone);
    const bool is_still_there = number > 2 * Board::kVotes;
    EXPECT_EQ(outcome->has_all_terms, is_still_there) << "vote " << number;
    EXPECT_EQ(outcome->sum_of_terms, is_still_there ? 8U : 3U) << "vote " << number;
  }
}

// Who is ahead and waits then finds that the others have not come, however old their words are.
TEST(BoardVotes, WaitsForARank_HoweverFarItIsBehind) {
  const SharedMemory memory(2);
  Board slow(memory.data(), 2, 0);
  Board fast(memory.data(), 2, 1);
  constexpr std::uint64_t kLast = 4 * Board::kVotes;
  for (std::uint64_t number = 1; number < kLast; ++number) fast.vote(number, Vote::kGone);
  fast.vote(kLast, Vote::kShort);
  for (std::uint64_t number = 1; number <= kLast; ++number) {
    EXPECT_FALSE(fast.outcome_of_vote(kLast)) << "the other one is before vote " << number;
    slow.vote(number, Vote::kGone);
  }
  ASSERT_TRUE(fast.outcome_of_vote(kLast));
  EXPECT_EQ(fast.outcome_of_vote(kLast)->vote, Vote::kGone);
}

TEST(BoardVotes, KeepsAVoteThatOthersWaitFor) {
  const SharedMemory memory(2);
  Board slow(memory.data(), 2, 0);
  Board fast(memory.data(), 2, 1);
  slow.vote(1, Vote::kShort);
  fast.vote(1, Vote::kLong);
  ASSERT_TRUE(fast.outcome_of_vote(1));
  for (std::uint64_t number = 2; number <= Board::kVotes; ++number) {
    ASSERT_TRUE(fast.may_vote(number));
    fast.vote(number, Vote::kGone);
  }
  EXPECT_FALSE(fast.may_vote(1 + Board::kVotes)) << "the slow rank may not have heard vote 1";
  ASSERT_TRUE(slow.outcome_of_vote(1));
  EXPECT_EQ(slow.outcome_of_vote(1)->vote, Vote::kLong);
  slow.vote(2, Vote::kGone);
  EXPECT_TRUE(fast.may_vote(1 + Board::kVotes));
}

TEST(BoardVotes, TellsWhoWasWithoutData_UntilAllHaveLooked) {
  const SharedMemory memory(2);
  Board one(memory.data(), 2, 0);
  Board other(memory.data(), 2, 1);
  EXPECT_FALSE(one.has_any_without_data(1));
  other.vote(1, Vote::kGone, 7);
  other.say_without_data(1);
  for (std::uint64_t number = 2; number <= Board::kVotes; ++number) other.vote(number, Vote::kGone);
  EXPECT_FALSE(other.may_vote(1 + Board::kVotes));
  one.vote(1, Vote::kShort);
  ASSERT_TRUE(one.outcome_of_vote(1));
  EXPECT_EQ(one.outcome_of_vote(1)->sum_of_terms, 7U);
  EXPECT_TRUE(one.has_any_without_data(1));
  EXPECT_TRUE(one.is_without_data(1, 1));
  EXPECT_FALSE(one.is_without_data(1, 0));
  EXPECT_FALSE(one.is_without_data(2, 1));
  EXPECT_FALSE(one.has_any_without_data(2));
  one.vote(2, Vote::kShort);
  EXPECT_TRUE(other.may_vote(1 + Board::kVotes));
}

// All wait in each third vote; in the others some ranks wait, and the others go on as far as they can.
TEST(BoardVotes, ShowWhatWasSaid_WhereSomeWaitAndSomeGoOn) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kCalls = 600;
  const auto waits = [](int rank, std::uint64_t number) {
    return number % 3 == 0 || (number * 7 + static_cast<std::uint64_t>(rank)) % 5 == 0;
  };
  const auto body = [&](Board *own, int rank, int *n_wrong) {
    Board &board = *own;
    for (std::uint64_t number = 1; number <= kCalls; ++number) {
      wait_until([&] { return board.may_vote(number); });
      board.vote(number, waits(rank, number) ? Vote::kLong : Vote::kGone, 1);
      if (!waits(rank, number)) continue;
      std::optional<Voted> outcome;
      wait_until([&] { return (outcome = board.outcome_of_vote(number)).has_value(); });
      bool some_are_gone = false;
      for (int other = 0; other < kRanks; ++other) some_are_gone |= !waits(other, number);
      const bool is_right =
          outcome->has(Vote::kGone) == some_are_gone && outcome->has(Vote::kLong) && !outcome->has(Vote::kNoVote) &&
          (outcome->sum_of_terms == kRanks) == outcome->has_all_terms && (some_are_gone || outcome->has_all_terms);
      *n_wrong += is_right ? 0 : 1;
    }
  };
  EXPECT_EQ(count_wrong(kRanks, body), std::vector<int>(kRanks, 0));
}

}  // namespace
}  // namespace sluice::transfer::board_votes_test
