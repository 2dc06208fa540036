// SPDX-License-Identifier: BSD-3-Clause
#include "plan/block_form.hpp"

#include <gtest/gtest.h>

namespace sluice::plan::block_form_test {
namespace {

constexpr BlockLimits kLimits{{PackUse::kByModel}, 256};
constexpr BlockLimits kForced{{PackUse::kKernel}, 256};
constexpr BlockLimits kNoKernel{{PackUse::kCopies}, 256};
constexpr std::uint64_t kLong = std::uint64_t{1} << 20;
constexpr std::uint64_t kShort = 4096;

TEST(BlockForm, IsAsItLies_WhereOthersCanBeTold) {
  EXPECT_EQ(choose_offered_form({kShort, 1, true}, kLimits).form, BlockForm::kRuns);
  EXPECT_EQ(choose_offered_form({kShort, 256, true}, kLimits).form, BlockForm::kRuns);
  EXPECT_EQ(choose_offered_form({kShort, 256, true}, kNoKernel).form, BlockForm::kRuns);
}

TEST(BlockForm, IsPacked_WhereOthersCannotBeTold) {
  EXPECT_EQ(choose_offered_form({kShort, 257, true}, kLimits).form, BlockForm::kKernel);
  EXPECT_EQ(choose_offered_form({kShort, 2, false}, kLimits).form, BlockForm::kKernel);
  EXPECT_EQ(choose_offered_form({kShort, 257, true}, kNoKernel).form, BlockForm::kNeither);
  EXPECT_EQ(choose_offered_form({kShort, 2, false}, kNoKernel).form, BlockForm::kNeither);
}

TEST(BlockForm, IsOneKernel_ForManyShortRuns) {
  EXPECT_EQ(choose_taken_form({kShort, 4, true}, kLimits).form, BlockForm::kKernel);
  EXPECT_EQ(choose_taken_form({100 * kLong / 2, 100, true}, kLimits).form, BlockForm::kKernel);
  EXPECT_EQ(choose_taken_form({1000 * kLong, 257, true}, kLimits).form, BlockForm::kKernel);
  EXPECT_EQ(choose_taken_form({4 * kLong, 2, true}, kForced).form, BlockForm::kKernel);
  EXPECT_EQ(choose_taken_form({kShort, 2, false}, kLimits).form, BlockForm::kKernel);
}

TEST(BlockForm, IsACopyForEachRun_OfFewOrLongOnes) {
  EXPECT_EQ(choose_taken_form({kShort, 3, true}, kLimits).form, BlockForm::kRuns);
  EXPECT_EQ(choose_taken_form({4 * kLong, 4, true}, kLimits).form, BlockForm::kRuns);
  EXPECT_EQ(choose_taken_form({100 * kLong, 100, true}, kLimits).form, BlockForm::kRuns);
  EXPECT_EQ(choose_taken_form({kShort, 1, true}, kForced).form, BlockForm::kRuns);
  EXPECT_EQ(choose_taken_form({kShort, 256, true}, kNoKernel).form, BlockForm::kRuns);
}

TEST(BlockForm, IsNeither_WhereNoKernelPacksTooManyRuns) {
  EXPECT_EQ(choose_taken_form({kShort, 257, true}, kNoKernel).form, BlockForm::kNeither);
  EXPECT_EQ(choose_taken_form({kShort, 2, false}, kNoKernel).form, BlockForm::kNeither);
}

TEST(BlockForm, ExplainsItself) {
  const BlockQuery query{1048576, 257, true};
  EXPECT_EQ(explain(query, choose_offered_form(query, kLimits)),
            "1048576 bytes in 257 runs -> kernel: others cannot be told where it lies");
  const BlockQuery uneven{64, 2, false};
  EXPECT_EQ(explain(uneven, choose_taken_form(uneven, kNoKernel)),
            "64 bytes in 2 uneven runs -> staged: too many or uneven runs for copies, and no kernel packs");
}

}  // namespace
}  // namespace sluice::plan::block_form_test
