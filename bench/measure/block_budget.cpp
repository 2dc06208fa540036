// SPDX-License-Identifier: BSD-3-Clause
// When to stop repeating blocks.
#include "bench/measure/block_budget.hpp"

#include <algorithm>

namespace sluice::bench {
namespace {

constexpr std::size_t kFewestBlocks = 6;  // with fewer there is no 95 % interval

bool is_precise(const Series &series, double precision_percent) {
  if (series.blocks.size() < kFewestBlocks) {
    return false;
  }
  const Summary all = summarise(block_medians(series), {});
  const double allowed = all.median * precision_percent / 100;
  return all.median_high - all.median <= allowed && all.median - all.median_low <= allowed;
}

}  // namespace

Stop BlockBudget::stop_after(std::span<const Series> series, double elapsed_s) const {
  if (!cap_s_) {
    return Stop::none;
  }
  if (std::all_of(series.begin(), series.end(),
                  [&](const Series &one) { return is_precise(one, precision_percent_); })) {
    return Stop::precise;
  }
  return elapsed_s >= *cap_s_ ? Stop::time : Stop::none;
}

}  // namespace sluice::bench
