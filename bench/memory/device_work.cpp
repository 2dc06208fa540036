// SPDX-License-Identifier: BSD-3-Clause
// A device that computes for a given time.
#include "bench/memory/device_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/memory/device_module.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kProofSteps = 100003;
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 40;
constexpr double kLongEnoughUs = 1000;
constexpr int kRehearsals = 5;

// What probe.h says that a work of so many steps leaves.
std::uint64_t expected_after(std::uint64_t n_steps) {
  std::uint64_t x = 0x9e3779b97f4a7c15U;
  for (std::uint64_t k = 0; k < n_steps; ++k) {
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
  }
  return x;
}

sluice_work_t *make_work(const DeviceModule &module) {
  if (module.probe() == nullptr || module.probe()->work_create == nullptr) {
    throw DeviceError(
        fmt::format("device module '{}' has no kernel that computes: give --compute host", module.name()));
  }
  sluice_work_t *work = nullptr;
  module.require(module.probe()->work_create(&work), "a kernel that computes (--compute host goes without)");
  return work;
}

}  // namespace

DeviceWork::DeviceWork(DeviceModule &module) : module_(module), work_(make_work(module), module.probe()->work_destroy) {
  prove();
  calibrate();
}

void DeviceWork::start(std::uint64_t amount) {
  module_.require(module_.probe()->work_enqueue(work_.get(), amount), "launch of a kernel that computes");
}

void DeviceWork::finish() {
  module_.require(module_.probe()->work_wait(work_.get(), nullptr), "wait for a kernel that computes");
}

// A device that does nothing would hide everything behind it.
void DeviceWork::prove() {
  std::uint64_t result = 0;
  start(kProofSteps);
  module_.require(module_.probe()->work_wait(work_.get(), &result), "wait for a kernel that computes");
  if (result != expected_after(kProofSteps)) {
    throw DeviceError(
        fmt::format("{}: the kernel that computes is wrong: it left {:#x} after {} steps, not {:#x}: give "
                    "--compute host, and mend the module",
                    module_.name(), result, kProofSteps, expected_after(kProofSteps)));
  }
}

// The fastest of several: the others were disturbed.
double DeviceWork::time_us(std::uint64_t amount) {
  double fastest_us = 0;
  for (int i = 0; i < kRehearsals; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    start(amount);
    finish();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    fastest_us = i == 0 ? took.count() : std::min(fastest_us, took.count());
  }
  return fastest_us;
}

void DeviceWork::calibrate() {
  launch_us_ = time_us(0);
  std::uint64_t amount = kProofSteps;
  double took_us = time_us(amount);
  while (took_us - launch_us_ < kLongEnoughUs && amount < kMostSteps) {
    amount *= 4;
    took_us = time_us(amount);
  }
  steps_per_us_ = static_cast<double>(amount) / std::max(took_us - launch_us_, 1e-3);
}

std::uint64_t DeviceWork::amount_of(double time_us) const {
  return static_cast<std::uint64_t>(std::max(0.0, (time_us - launch_us_) * steps_per_us_));
}

}  // namespace sluice::bench
