// SPDX-License-Identifier: BSD-3-Clause
// The choice between kernels across devices and copy engines that feed a kernel.
#include "plan/reduction_means.hpp"

#include <gtest/gtest.h>

namespace sluice::plan::reduction_means_test {
namespace {

constexpr std::size_t kMost = 16;
constexpr ReductionMeansLimits kFromOneMiB = {std::uint64_t{1} << 20, 4096};

constexpr std::uint64_t kOneMiB = std::uint64_t{1} << 20;

// Of inputs of which all but the rank's own lie on other devices, and whose result goes there, too.
ReductionMeansQuery of_inputs(std::uint64_t input_bytes, std::size_t n_inputs) {
  return {.input_bytes = input_bytes, .n_inputs = n_inputs, .n_elsewhere = n_inputs - 1};
}

TEST(ReductionMeansPlan, EnginesAreForLongInputs) {
  EXPECT_EQ(choose_reduction_means(of_inputs(kOneMiB, 2), kFromOneMiB, kMost).means, ReductionMeans::kEngines);
  EXPECT_EQ(choose_reduction_means(of_inputs(kOneMiB - 1, 2), kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  EXPECT_EQ(choose_reduction_means(of_inputs(kLeastForEngines - 1, 2), {1, 4096}, kMost).means, ReductionMeans::kKernel)
      << "nobody asks below that";
  EXPECT_EQ(choose_reduction_means(of_inputs(kOneMiB, 2), {0, 4096}, kMost).means, ReductionMeans::kKernel)
      << "0 is never";
}

TEST(ReductionMeansPlan, KernelsDoWhatEnginesCannotFeed) {
  EXPECT_EQ(choose_reduction_means(of_inputs(kOneMiB, 1), kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  EXPECT_EQ(choose_reduction_means(of_inputs(kOneMiB, kMost), kFromOneMiB, kMost).means, ReductionMeans::kEngines);
  EXPECT_EQ(choose_reduction_means(of_inputs(kOneMiB, kMost + 1), kFromOneMiB, kMost).means, ReductionMeans::kKernel);
}

TEST(ReductionMeansPlan, KernelsDoWhatIsNotForAll_OrCrossesNoLink) {
  for (const Delivery delivery : {Delivery::kAllToOne, Delivery::kOfThoseBelow}) {
    ReductionMeansQuery for_some = of_inputs(kOneMiB, 4);
    for_some.delivery = delivery;
    EXPECT_EQ(choose_reduction_means(for_some, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  }
  ReductionMeansQuery shared = of_inputs(kOneMiB, 4);
  shared.n_elsewhere = 0;
  EXPECT_EQ(choose_reduction_means(shared, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  shared.n_elsewhere = 1;
  EXPECT_EQ(choose_reduction_means(shared, kFromOneMiB, kMost).means, ReductionMeans::kEngines);
}

TEST(ReductionMeansPlan, EnginesAreForShorterInputsOfMoreThanTwo_AndSendLast) {
  const std::uint64_t quarter = kOneMiB / 4;
  EXPECT_EQ(choose_reduction_means(of_inputs(quarter, 3), kFromOneMiB, kMost).means, ReductionMeans::kEngines);
  EXPECT_EQ(choose_reduction_means(of_inputs(quarter - 1, 3), kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  EXPECT_TRUE(choose_reduction_means(of_inputs(kOneMiB, 3), kFromOneMiB, kMost).sends_last);
  EXPECT_FALSE(choose_reduction_means(of_inputs(kOneMiB, 2), kFromOneMiB, kMost).sends_last);
}

TEST(ReductionMeansPlan, EnginesAreForBlocksOfMoreThanTwo) {
  ReductionMeansQuery blocks = of_inputs(kOneMiB, 2);
  blocks.delivery = Delivery::kBlocks;
  EXPECT_EQ(choose_reduction_means(blocks, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
  blocks = of_inputs(kOneMiB, 4);
  blocks.delivery = Delivery::kBlocks;
  const ReductionMeansLimits half = {kOneMiB, kOneMiB * 3 / 8};
  EXPECT_EQ(choose_reduction_means(blocks, half, kMost).means, ReductionMeans::kEngines);
  blocks.input_bytes += 16;
  EXPECT_EQ(choose_reduction_means(blocks, half, kMost).means, ReductionMeans::kKernel) << "more than two blocks";
  blocks.delivery = Delivery::kAllOfIt;
  EXPECT_EQ(choose_reduction_means(blocks, half, kMost).means, ReductionMeans::kEngines);
}

TEST(ReductionMeansPlan, KernelsDoWhatCopiesWouldWriteOver) {
  ReductionMeansQuery with_gaps = of_inputs(kOneMiB, 2);
  with_gaps.has_gaps = true;
  EXPECT_EQ(choose_reduction_means(with_gaps, kFromOneMiB, kMost).means, ReductionMeans::kKernel);
}

TEST(ReductionMeansPlan, ExplainsItself) {
  const ReductionMeansQuery query = of_inputs(kOneMiB, 4);
  EXPECT_EQ(explain(query, choose_reduction_means(query, kFromOneMiB, kMost)),
            "4 inputs of 1048576 bytes -> engines: engines read and write the links");
  EXPECT_EQ(explain(query, choose_reduction_means(query, {}, kMost)),
            "4 inputs of 1048576 bytes -> kernel: coll_reduce_engines is 0");
}

}  // namespace
}  // namespace sluice::plan::reduction_means_test
