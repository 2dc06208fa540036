// SPDX-License-Identifier: BSD-3-Clause
// The timed loop. One reading of the clock for each sample: the end of one sample is the start of the next.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace sluice::bench {

struct Loop {
  std::uint64_t warmup = 0;
  std::uint64_t iterations = 1;
  std::uint64_t batch = 1;  // iterations in one sample; the last sample may hold fewer
};

// Runs `body` warmup times untimed, then iterations times, and returns the time of one iteration in µs for each
// sample. The vector is allocated before the clock starts.
template <class Body>
std::vector<double> sample_us(const Loop &loop, Body &&body) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  samples.reserve((loop.iterations + loop.batch - 1) / loop.batch);
  for (std::uint64_t i = 0; i < loop.warmup; ++i) {
    body();
  }
  auto start = Clock::now();
  for (std::uint64_t done = 0; done < loop.iterations;) {
    const std::uint64_t n = std::min(loop.batch, loop.iterations - done);
    for (std::uint64_t i = 0; i < n; ++i) {
      body();
    }
    const auto stop = Clock::now();
    samples.push_back(std::chrono::duration<double, std::micro>(stop - start).count() / static_cast<double>(n));
    start = stop;
    done += n;
  }
  return samples;
}

// What one reading of the clock costs here, in ns: the part of every sample that is not the thing measured.
inline double clock_cost_ns() {
  constexpr std::uint64_t kReadings = 10000;
  const auto start = std::chrono::steady_clock::now();
  auto stop = start;
  for (std::uint64_t i = 0; i < kReadings; ++i) {
    stop = std::chrono::steady_clock::now();
  }
  return std::chrono::duration<double, std::nano>(stop - start).count() / static_cast<double>(kReadings);
}

}  // namespace sluice::bench
