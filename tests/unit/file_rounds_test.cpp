// SPDX-License-Identifier: BSD-3-Clause
// What ranks say of their blocks is believed within bounds only.
#include "plan/file_rounds.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::plan {
namespace {

constexpr auto kMost = static_cast<long long>(kMostFileRounds);

TEST(FileRounds, AreTheMostOfAnyRank) {
  EXPECT_EQ(agreed_file_rounds(0), 0U);
  EXPECT_EQ(agreed_file_rounds(-12), 12U);
  EXPECT_EQ(agreed_file_rounds(-kMost), kMostFileRounds);
}

TEST(FileRounds, AreNone_WhenARankSaysWhatNoneSays) {
  for (const long long said :
       {1LL, kMost, std::numeric_limits<long long>::max(), -kMost - 1, std::numeric_limits<long long>::min()}) {
    EXPECT_FALSE(agreed_file_rounds(said).has_value()) << said;
  }
}

}  // namespace
}  // namespace sluice::plan
