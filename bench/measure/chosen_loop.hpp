// SPDX-License-Identifier: BSD-3-Clause
// How many iterations: the user's numbers, or the test's own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/cli/options.hpp"
#include "bench/measure/sampling.hpp"

namespace sluice::bench {

inline Loop chosen_loop(const Options &options, const Loop &defaults) {
  return {options.warmup.value_or(defaults.warmup), options.iterations.value_or(defaults.iterations), options.batch};
}

// --cold: making memory takes far longer than a message.
inline Loop cold_loop(const Loop &usual) {
  constexpr std::uint64_t kMostWarmups = 2;
  constexpr std::uint64_t kMostIterations = 100;
  return {std::min(usual.warmup, kMostWarmups), std::min(usual.iterations, kMostIterations)};
}

// Untimed iterations in which every element is looked at.
inline std::uint64_t checked_iterations(CheckMode mode, std::uint64_t timed_iterations) {
  constexpr std::uint64_t kSomeIterations = 4;
  switch (mode) {
    case CheckMode::none:
      return 0;
    case CheckMode::all:
      return timed_iterations;
    default:
      return std::min(kSomeIterations, timed_iterations);
  }
}

}  // namespace sluice::bench
