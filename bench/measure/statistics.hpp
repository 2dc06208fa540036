// SPDX-License-Identifier: BSD-3-Clause
// What is said about a set of samples, and about several such sets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::bench {

// Samples of one block, in the unit of the metric. "p99" and the percentiles look towards the bad end: 99 % of the
// samples are no worse, so for a bandwidth it is the low end.
struct Summary {
  std::uint64_t n_samples = 0;
  double mean = 0;
  double median = 0;
  double min = 0;
  double max = 0;
  double p99 = 0;
  double stddev = 0;                // of the sample; 0 for a single one
  double median_low = 0;            // 95 % interval of the median, from the order of the samples alone;
  double median_high = 0;           // with fewer than six samples: smallest and largest
  std::vector<double> percentiles;  // in the order asked for
  std::vector<double> samples;      // all of them, as they came
};

// Summarises times in any unit. samples: at least one. percentiles: above 0, up to 100; nearest rank.
Summary summarise(std::vector<double> samples, std::span<const double> percentiles);

// Turns a summary of times in µs into one of rates in MB/s (10^6 bytes), bytes being moved in each sample. The mean is
// all bytes over all time, as OSU computes it.
Summary rate_of(const Summary &times_us, double bytes);

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

// values: at least one.
Spread spread_of(std::vector<double> values);

// One column of results: the same thing measured in one or more independent blocks.
struct Series {
  std::string name;
  std::vector<Summary> blocks;
};

// The blocks' medians, in their order, and their spread.
std::vector<double> block_medians(const Series &series);
Spread medians_of(const Series &series);

// Spread of the ratios first / second of blocks that ran one after the other. Both have the same number of blocks.
Spread ratio_of(const Series &first, const Series &second);

}  // namespace sluice::bench
