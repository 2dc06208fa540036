// SPDX-License-Identifier: BSD-3-Clause
#include "plan/copy_means.hpp"

#include <gtest/gtest.h>

namespace sluice::plan::copy_means_test {
namespace {

constexpr CopyListLimits kLimits{4096, 16};

TEST(CopyMeans, AreAKernel_ForShortCopies) {
  EXPECT_EQ(choose_copy_means({2, 4096}, kLimits).means, CopyMeans::kKernel);
  EXPECT_EQ(choose_copy_means({1, 4096}, kLimits).means, CopyMeans::kKernel);
  EXPECT_EQ(choose_copy_means({16, 1}, kLimits).means, CopyMeans::kKernel);
}

TEST(CopyMeans, AreTheEngines_WhereAKernelWouldNotDo) {
  EXPECT_EQ(choose_copy_means({2, 4097}, kLimits).means, CopyMeans::kEngines);
  EXPECT_EQ(choose_copy_means({17, 4096}, kLimits).means, CopyMeans::kEngines);
  EXPECT_EQ(choose_copy_means({2, 4096}, {4096, 0}).means, CopyMeans::kEngines);
  EXPECT_EQ(choose_copy_means({2, 1}, {0, 16}).means, CopyMeans::kEngines);
}

TEST(CopyMeans, ExplainThemselves) {
  const CopyListQuery query{2, 8192};
  EXPECT_EQ(explain(query, choose_copy_means(query, {8192, 16})),
            "2 copies of 8192 bytes -> kernel: one kernel makes all copies at once");
  EXPECT_EQ(explain(query, choose_copy_means(query, kLimits)),
            "2 copies of 8192 bytes -> engines: longer than what a kernel is to copy");
}

constexpr OwnBlockLimits kCrowded{OwnBlock::kAuto, true, true};
constexpr std::uint64_t kMi = std::uint64_t{1} << 20;

TEST(OwnBlocks, AreAKernels_WhereLongAndBesideAsMuch) {
  EXPECT_EQ(choose_own_means({2 * kMi, 2 * kMi, true}, kCrowded).means, CopyMeans::kKernel);
  EXPECT_EQ(choose_own_means({2 * kMi, kMi, true}, kCrowded).means, CopyMeans::kKernel);
  EXPECT_EQ(choose_own_means({1, 0, false}, {OwnBlock::kKernels, false, true}).means, CopyMeans::kKernel);
}

TEST(OwnBlocks, AreTheEngines_WhereAKernelGainsNothing) {
  const auto means = [](const OwnBlockQuery &query, const OwnBlockLimits &limits) {
    return choose_own_means(query, limits).means;
  };
  EXPECT_EQ(means({2 * kMi - 1, 2 * kMi, true}, kCrowded), CopyMeans::kEngines);
  EXPECT_EQ(means({2 * kMi, 2 * kMi, false}, kCrowded), CopyMeans::kEngines);
  EXPECT_EQ(means({2 * kMi, kMi - 1, true}, kCrowded), CopyMeans::kEngines);
  EXPECT_EQ(means({2 * kMi, 2 * kMi, true}, {OwnBlock::kAuto, false, true}), CopyMeans::kEngines);
  EXPECT_EQ(means({2 * kMi, 2 * kMi, true}, {OwnBlock::kKernels, true, false}), CopyMeans::kEngines);
}

TEST(OwnBlocks, HaveOthersBesideThemByKernels_WhereMappedInSmallPages) {
  const CopyPlan own = choose_own_means({2 * kMi, 2 * kMi, true}, kCrowded);
  EXPECT_EQ(choose_pull_means(own, false, OwnBlock::kAuto).means, CopyMeans::kEngines);
  EXPECT_EQ(choose_pull_means(own, true, OwnBlock::kAuto).means, CopyMeans::kKernel);
  EXPECT_EQ(choose_pull_means(own, false, OwnBlock::kKernels).means, CopyMeans::kKernel);
  EXPECT_EQ(choose_pull_means({CopyMeans::kEngines, ""}, true, OwnBlock::kAuto).means, CopyMeans::kEngines);
}

TEST(OwnBlocks, ExplainThemselves) {
  const OwnBlockQuery query{4 * kMi, 4 * kMi, true};
  EXPECT_EQ(explain(query, choose_own_means(query, kCrowded)),
            "own blocks of 4194304 bytes beside 4194304 of others -> kernel: leaves the engines to what crosses links");
}

}  // namespace
}  // namespace sluice::plan::copy_means_test
