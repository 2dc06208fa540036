// SPDX-License-Identifier: BSD-3-Clause
// The choice between kernels across devices and copy engines that feed a kernel.
#include "plan/reduction_means.hpp"

#include <gtest/gtest.h>

namespace sluice::plan {
namespace {

constexpr std::size_t kMost = 16;
constexpr ReductionMeansLimits kFromOneMiB = {std::uint64_t{1} << 20, 4096};

TEST(ReductionMeansPlan, EnginesAreForLongInputs) {
  EXPECT_EQ(choose_reduction_means({1 << 20, 2, true}, kFromOneMiB, kMost).means, ReductionMeans::kEngines);
  EXPECT_EQ(choose_reduction_means({(1 << 20) - 1, 2, true}, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  EXPECT_EQ(choose_reduction_means({kLeastForEngines - 1, 2, true}, {1, 4096}, kMost).means, ReductionMeans::kKernel)
      << "nobody asks below that";
  EXPECT_EQ(choose_reduction_means({1 << 20, 2, true}, {0, 4096}, kMost).means, ReductionMeans::kKernel)
      << "0 is never";
}

TEST(ReductionMeansPlan, KernelsDoWhatEnginesCannotFeed) {
  EXPECT_EQ(choose_reduction_means({1 << 20, 2, false}, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  EXPECT_EQ(choose_reduction_means({1 << 20, 1, true}, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  EXPECT_EQ(choose_reduction_means({1 << 20, kMost, true}, kFromOneMiB, kMost).means, ReductionMeans::kEngines);
  EXPECT_EQ(choose_reduction_means({1 << 20, kMost + 1, true}, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
}

TEST(ReductionMeansPlan, ExplainsItself) {
  const ReductionMeansQuery query{1 << 20, 4, true};
  EXPECT_EQ(explain(query, choose_reduction_means(query, kFromOneMiB, kMost)),
            "4 inputs of 1048576 bytes -> engines: copies of one block and the kernel of another overlap");
  EXPECT_EQ(explain(query, choose_reduction_means(query, {}, kMost)),
            "4 inputs of 1048576 bytes -> kernel: SLUICE_COLL_REDUCE_ENGINES is 0");
}

}  // namespace
}  // namespace sluice::plan
