// SPDX-License-Identifier: BSD-3-Clause
// Statistics of samples whose results are known.
#include "bench/measure/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "bench/measure/block_budget.hpp"
#include "bench/measure/sampling.hpp"

namespace sluice::bench::statistics_test {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.rbegin(), values.rend(), 1.0);
  return values;
}

Series series_of(const std::vector<double> &medians) {
  Series series{"s", {}};
  for (const double median : medians) {
    series.blocks.push_back(summarise({median}, {}));
  }
  return series;
}

// The number of samples below the median is within 1.96 standard deviations of 50: of 100 samples, the 41st to the
// 61st.
TEST(Summarise, GivesTheIntervalOfTheMedian) {
  const Summary summary = summarise(one_to(100), {});
  EXPECT_DOUBLE_EQ(summary.median_low, 41);
  EXPECT_DOUBLE_EQ(summary.median_high, 61);
  const Summary few = summarise({3, 1, 2}, {});
  EXPECT_DOUBLE_EQ(few.median_low, 1);
  EXPECT_DOUBLE_EQ(few.median_high, 3);
}

TEST(Summarise, GivesKnownFigures_WhenSamplesAreOneToHundred) {
  const std::vector<double> percents{50, 90, 99, 99.5, 100};
  const Summary summary = summarise(one_to(100), percents);
  EXPECT_EQ(summary.n_samples, 100U);
  EXPECT_DOUBLE_EQ(summary.mean, 50.5);
  EXPECT_DOUBLE_EQ(summary.median, 50.5);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.max, 100);
  EXPECT_DOUBLE_EQ(summary.p99, 99);
  EXPECT_NEAR(summary.stddev, std::sqrt(100.0 * 101.0 / 12.0), 1e-12);
  EXPECT_EQ(summary.percentiles, (std::vector<double>{50, 90, 99, 100, 100}));
}

TEST(Summarise, IsTheSampleItself_WhenThereIsOne) {
  const std::vector<double> percents{1};
  const Summary summary = summarise({7.5}, percents);
  EXPECT_DOUBLE_EQ(summary.mean, 7.5);
  EXPECT_DOUBLE_EQ(summary.median, 7.5);
  EXPECT_DOUBLE_EQ(summary.p99, 7.5);
  EXPECT_DOUBLE_EQ(summary.stddev, 0);
  EXPECT_EQ(summary.percentiles, std::vector<double>{7.5});
}

TEST(Summarise, TakesTheMiddleSample_WhenTheirNumberIsOdd) {
  EXPECT_DOUBLE_EQ(summarise({9, 1, 4}, {}).median, 4);
}

TEST(RateOf, TurnsTimesRound) {
  const Summary rates = rate_of(summarise({1, 2, 4}, {}), 8e6);
  EXPECT_NEAR(rates.mean, 3 * 8e6 / 7, 1e-6);  // all bytes over all time
  EXPECT_DOUBLE_EQ(rates.median, 4e6);
  EXPECT_DOUBLE_EQ(rates.min, 2e6);
  EXPECT_DOUBLE_EQ(rates.max, 8e6);
  EXPECT_DOUBLE_EQ(rates.p99, 2e6);  // 99 % are no worse
}

TEST(RateOf, IsZero_WhenTheClockSawNothing) {
  EXPECT_DOUBLE_EQ(rate_of(summarise({0}, {}), 100).median, 0);
}

TEST(Medians, SpreadOverBlocks) {
  const Spread spread = medians_of(series_of({3, 1, 2, 10}));
  EXPECT_DOUBLE_EQ(spread.median, 2.5);
  EXPECT_DOUBLE_EQ(spread.min, 1);
  EXPECT_DOUBLE_EQ(spread.max, 10);
}

TEST(Ratio, ComparesBlocksInPairs) {
  const Spread ratio = ratio_of(series_of({1, 10, 3}), series_of({2, 10, 2}));
  EXPECT_DOUBLE_EQ(ratio.median, 1);
  EXPECT_DOUBLE_EQ(ratio.min, 0.5);
  EXPECT_DOUBLE_EQ(ratio.max, 1.5);
}

TEST(Sampling, RunsWarmupsAndIterations_InBatches) {
  int calls = 0;
  const auto samples = sample_us(Loop{.warmup = 3, .iterations = 10, .batch = 4}, [&] { ++calls; });
  EXPECT_EQ(calls, 13);
  EXPECT_EQ(samples.size(), 3U);  // 4 + 4 + 2
  EXPECT_GT(clock_cost_ns(), 0);
}

TEST(BlockBudget, StopsWhenEverySeriesIsPrecise) {
  const BlockBudget budget(10.0, 2);
  const Series narrow = series_of({100, 101, 99, 100, 101, 99});
  const Series wide = series_of({100, 101, 99, 100, 101, 90});
  EXPECT_EQ(budget.stop_after(std::vector{narrow}, 0), Stop::precise);
  EXPECT_EQ(budget.stop_after(std::vector{wide}, 0), Stop::none);
  EXPECT_EQ(budget.stop_after(std::vector{narrow, wide}, 0), Stop::none);
  EXPECT_EQ(budget.stop_after(std::vector{series_of({100, 100, 100, 100, 100})}, 0), Stop::none);
}

TEST(BlockBudget, StopsAtItsCap) {
  const Series wide = series_of({100, 1});
  EXPECT_EQ(BlockBudget(10.0, 2).stop_after(std::vector{wide}, 9.9), Stop::none);
  EXPECT_EQ(BlockBudget(10.0, 2).stop_after(std::vector{wide}, 10.0), Stop::time);
  EXPECT_EQ(BlockBudget({}, 2).stop_after(std::vector{series_of({1, 1, 1, 1, 1, 1})}, 1e9), Stop::none);
}

}  // namespace
}  // namespace sluice::bench::statistics_test
