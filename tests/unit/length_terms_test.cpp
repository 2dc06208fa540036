// SPDX-License-Identifier: BSD-3-Clause
// The sum of what ranks say of their lengths: 0 where they fit together, and else not.
#include "plan/length_terms.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice::plan::length_terms_test {
namespace {

constexpr int kRounds = 2000;

class Lengths : public ::testing::Test {
 protected:
  int ranks() { return 2 + static_cast<int>(random_() % 70); }
  // Powers of two and what lies beside them, up to many GiB: what hashes lose most easily.
  std::uint64_t length() {
    const std::uint64_t exact = std::uint64_t{1} << random_() % 40;
    return length_of(static_cast<std::int64_t>(exact - random_() % 2), 1);
  }
  std::uint64_t other_than(std::uint64_t length) {
    std::uint64_t other = length;
    while (other == length) other = this->length();
    return other;
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937_64 random_{20260911};
};

bool fits(std::uint64_t sum) {
  return sum % kLengthPrime == 0;
}

TEST_F(Lengths, ThatAllGiveAlike_Cancel_AndAnyOtherOneShows) {
  for (int round = 0; round < kRounds; ++round) {
    const int n = ranks();
    const std::uint64_t length = this->length();
    const int odd = below(n);
    const std::uint64_t other = other_than(length);
    std::uint64_t alike = 0;
    std::uint64_t unlike = 0;
    std::uint64_t unfit = 0;
    for (int rank = 0; rank < n; ++rank) {
      alike += common_term(rank, n, length, true);
      unlike += common_term(rank, n, rank == odd ? other : length, true);
      unfit += common_term(rank, n, length, rank != odd);
    }
    EXPECT_TRUE(fits(alike)) << n << " ranks, " << length;
    EXPECT_FALSE(fits(unlike)) << n << " ranks, " << length << ", rank " << odd << ' ' << other;
    EXPECT_FALSE(fits(unfit)) << n << " ranks, " << length << ", rank " << odd;
  }
}

TEST_F(Lengths, OfBlocksForARoot_FitWhereEachIsAsLongAsItSays) {
  for (int round = 0; round < kRounds; ++round) {
    const int n = ranks();
    const int root = below(n);
    const bool is_in_place = round % 2 == 0;
    std::vector<std::uint64_t> said;
    for (int rank = 0; rank < n; ++rank) said.push_back(length());
    const auto sum = [&](int odd, std::uint64_t other) {
      std::uint64_t all = 0;
      for (int rank = 0; rank < n; ++rank) {
        const std::uint64_t own = rank == odd ? other : said[static_cast<std::size_t>(rank)];
        all += rank != root
                   ? term_of_leaf(rank, own)
                   : term_of_root(rank, n, is_in_place, own, [&](int i) { return said[static_cast<std::size_t>(i)]; });
      }
      return all;
    };
    EXPECT_TRUE(fits(sum(-1, 0)));
    const int odd = below(n);
    const bool counts = odd != root || !is_in_place;
    EXPECT_EQ(fits(sum(odd, other_than(said[static_cast<std::size_t>(odd)]))), !counts) << n << ", " << odd;
  }
}

TEST_F(Lengths, OfBlocksForEachOther_FitWhereEachIsAsLongAtBothEnds) {
  for (int round = 0; round < kRounds / 20; ++round) {
    const int n = ranks();
    std::vector<std::uint64_t> lengths;
    for (int i = 0; i < n * n; ++i) lengths.push_back(length());
    const auto at = [&](int from, int to) -> std::uint64_t & {
      return lengths[static_cast<std::size_t>(from * n + to)];
    };
    const int from = below(n);
    const int to = below(n);
    const std::uint64_t other = other_than(at(from, to));
    const auto sum = [&](bool is_odd) {
      std::uint64_t all = 0;
      for (int rank = 0; rank < n; ++rank) {
        all += term_of_pairs(
            rank, n, [&](int i) { return is_odd && rank == from && i == to ? other : at(rank, i); },
            [&](int i) { return at(i, rank); });
      }
      return all;
    };
    EXPECT_TRUE(fits(sum(false))) << n;
    EXPECT_FALSE(fits(sum(true))) << n << ", from " << from << " to " << to;
  }
}

TEST_F(Lengths, OfAllBlocks_HaveOneNumber_ThatChangesWithEach) {
  for (int round = 0; round < kRounds; ++round) {
    const int n = ranks();
    std::vector<std::uint64_t> lengths;
    for (int i = 0; i < n; ++i) lengths.push_back(length());
    const auto hash = [&] { return hash_of_lengths(n, [&](int i) { return lengths[static_cast<std::size_t>(i)]; }); };
    const std::uint32_t before = hash();
    std::uint64_t &changed = lengths[static_cast<std::size_t>(below(n))];
    changed = other_than(changed);
    EXPECT_NE(hash(), before);
  }
}

TEST_F(Lengths, OfNoGoodCount_AreNone) {
  EXPECT_EQ(length_of(-1, 8), 0U);
  EXPECT_EQ(length_of(std::int64_t{1} << 62, 1U << 31U),
            (std::uint64_t{1} << 62) % kLengthPrime * (1U << 31U) % kLengthPrime % kLengthPrime);
}

}  // namespace
}  // namespace sluice::plan::length_terms_test
