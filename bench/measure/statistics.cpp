// SPDX-License-Identifier: BSD-3-Clause
// What is said about a set of samples.
#include "bench/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice::bench {
namespace {

double middle_of(const std::vector<double> &sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// The smallest sample such that `percent` of all are no larger.
double nearest_rank(const std::vector<double> &sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

// The samples between which the true median lies with 95 % probability, whatever their distribution: the number of
// samples below it is binomial, here by its normal approximation.
std::pair<double, double> interval_of_median(const std::vector<double> &sorted) {
  constexpr std::size_t kFewest = 6;  // with fewer not even smallest and largest hold it so often
  if (sorted.size() < kFewest) {
    return {sorted.front(), sorted.back()};
  }
  const auto n = static_cast<double>(sorted.size());
  const double reach = 1.959964 * std::sqrt(n) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - reach)));
  const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil(n / 2 + reach)));
  return {sorted[low], sorted[high]};
}

}  // namespace

Summary summarise(std::vector<double> samples, std::span<const double> percentiles) {
  Summary summary;
  summary.samples = samples;
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  summary.n_samples = samples.size();
  summary.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  summary.median = middle_of(samples);
  summary.min = samples.front();
  summary.max = samples.back();
  summary.p99 = nearest_rank(samples, 99);
  std::tie(summary.median_low, summary.median_high) = interval_of_median(samples);
  if (samples.size() > 1) {
    double squares = 0;
    for (const double sample : samples) {
      squares += (sample - summary.mean) * (sample - summary.mean);
    }
    summary.stddev = std::sqrt(squares / (n - 1));
  }
  for (const double percent : percentiles) {
    summary.percentiles.push_back(nearest_rank(samples, percent));
  }
  return summary;
}

Summary rate_of(const Summary &times_us, double bytes) {
  // Bytes per µs are MB/s. A clock too coarse to see the sample gives no rate.
  const auto rate = [bytes](double time_us) { return time_us > 0 ? bytes / time_us : 0.0; };
  Summary rates;
  rates.n_samples = times_us.n_samples;
  rates.mean = rate(times_us.mean);
  rates.median = rate(times_us.median);
  rates.min = rate(times_us.max);
  rates.max = rate(times_us.min);
  rates.p99 = rate(times_us.p99);
  rates.median_low = rate(times_us.median_high);
  rates.median_high = rate(times_us.median_low);
  rates.stddev = times_us.mean > 0 ? rates.mean * times_us.stddev / times_us.mean : 0.0;
  for (const double time_us : times_us.percentiles) {
    rates.percentiles.push_back(rate(time_us));
  }
  for (const double time_us : times_us.samples) {
    rates.samples.push_back(rate(time_us));
  }
  return rates;
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {middle_of(values), values.front(), values.back()};
}

std::vector<double> block_medians(const Series &series) {
  std::vector<double> medians;
  medians.reserve(series.blocks.size());
  for (const Summary &block : series.blocks) {
    medians.push_back(block.median);
  }
  return medians;
}

Spread medians_of(const Series &series) {
  return spread_of(block_medians(series));
}

Spread ratio_of(const Series &first, const Series &second) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(first.blocks.size(), second.blocks.size()); ++i) {
    const double divisor = second.blocks[i].median;
    ratios.push_back(divisor > 0 ? first.blocks[i].median / divisor : 0.0);
  }
  return spread_of(std::move(ratios));
}

}  // namespace sluice::bench
