// SPDX-License-Identifier: BSD-3-Clause
// Work on the host.
#include "bench/measure/host_work.hpp"

#include <algorithm>
#include <chrono>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kRehearsal = 20000;
constexpr int kRehearsals = 5;

}  // namespace

HostWork::HostWork() {
  // The fastest of several: the others were disturbed.
  for (int i = 0; i < kRehearsals; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run(kRehearsal);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (took.count() > 0) {
      amount_per_us_ = std::max(amount_per_us_, static_cast<double>(kRehearsal) / took.count());
    }
  }
}

std::uint64_t HostWork::amount_of(double time_us) const {
  return static_cast<std::uint64_t>(std::max(0.0, time_us * amount_per_us_));
}

void HostWork::run(std::uint64_t amount) {
  // Each step needs the one before it: the compiler can neither drop nor shorten it.
  double x = state_;
  for (std::uint64_t i = 0; i < amount; ++i) {
    x = x * 0.999999 + 0.5;
  }
  state_ = x;
}

}  // namespace sluice::bench
