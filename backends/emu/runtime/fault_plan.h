// SPDX-License-Identifier: BSD-3-Clause
// Faults on purpose: what SLUICE_EMU_FAULT and emu_set_fault ask for, and when it strikes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string_view>
#include <vector>

#include "emurt.h"

namespace emurt {

enum class FaultPoint : size_t {
  kAlloc,
  kHostAlloc,
  kQueueCreate,
  kTicket,
  kCopy,
  kQueueCopy,
  kFlip,
  kQueueFlip,
  kLose,
  kQueueLose,
  kKernel,
  kKernelFlip,
  kKernelReach,
  kWord,
  kEarly,
  kIpcExport,
  kIpcOpen,
  kCount
};

class FaultPlan {
 public:
  // seed: of the random delays, orders and flipped positions.
  explicit FaultPlan(uint64_t seed) : seed_(seed), random_(seed) {}

  // Replaces all and restarts the counters; the grammar is in emurt.h. EMU_ERROR_CONFIGURATION changes nothing.
  // origin: what the specification came from, for the error's text.
  emu_result_t set(std::string_view origin, std::string_view specification);

  // Counts one event and says whether it is to fail; *event is its number, from 1. Any thread. Hot: one load while no
  // fault is set.
  bool strikes(FaultPoint point, uint64_t *event);
  // A random delay for one copy; zero when none is asked for.
  std::chrono::nanoseconds delay();
  // Shuffles positions 0..n-1 when "reorder" is set; false when it is not.
  bool reorder(std::vector<size_t> *positions);
  // A position within 0..n-1 for a flipped byte.
  size_t position_in(size_t n);

  // "copy" and so on, as in the specification.
  static std::string_view name(FaultPoint point);

 private:
  static constexpr size_t kPoints = static_cast<size_t>(FaultPoint::kCount);
  struct Window {
    uint64_t first = 0;  // 0: never
    uint64_t last = 0;
  };
  struct Settings {
    std::array<Window, kPoints> windows{};
    bool is_reordering = false;
    uint64_t min_delay_us = 0;
    uint64_t max_delay_us = 0;
  };
  static bool parse_item(std::string_view item, Settings *settings);
  static bool parse_window(std::string_view text, Window *window);
  uint64_t random_below(uint64_t n);  // with mutex_ held

  const uint64_t seed_;
  std::atomic<bool> is_active_{false};
  std::mutex mutex_;
  Settings settings_;
  std::array<uint64_t, kPoints> n_events_{};
  std::mt19937_64 random_;
};

}  // namespace emurt
