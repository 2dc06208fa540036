// SPDX-License-Identifier: BSD-3-Clause
// When to stop repeating blocks (--time-cap, --precision).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "bench/measure/statistics.hpp"

namespace sluice::bench {

// Why no further block was run; a later one is worse.
enum class Stop { none, precise, time };

// Begins with the first block of a size. Without a cap it never says stop.
class BlockBudget {
 public:
  BlockBudget(const std::optional<double> &cap_s, double precision_percent)
      : cap_s_(cap_s), precision_percent_(precision_percent), begin_(Clock::now()) {}

  bool has_cap() const { return cap_s_.has_value(); }
  // What the blocks so far say. precise: in every series the 95 % interval of the median of the blocks' medians, which
  // six blocks have at the earliest, lies within the precision around it. A block is never cut short: the cap can be
  // passed by one.
  Stop stop_after(std::span<const Series> series) const { return stop_after(series, elapsed_s()); }
  Stop stop_after(std::span<const Series> series, double elapsed_s) const;

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  std::optional<double> cap_s_;
  double precision_percent_;
  Clock::time_point begin_;
};

}  // namespace sluice::bench
