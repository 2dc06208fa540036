// SPDX-License-Identifier: BSD-3-Clause
#include "plan/copy_means.hpp"

#include <gtest/gtest.h>

namespace sluice::plan {
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
            "2 copies of 8192 bytes -> engines: longer than SLUICE_COLL_KERNEL_COPY");
}

}  // namespace
}  // namespace sluice::plan
