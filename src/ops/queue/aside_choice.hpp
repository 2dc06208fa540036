// SPDX-License-Identifier: BSD-3-Clause
// AsideChoice: whether what a queue's stream sends and receives goes aside of it (plan/queue_aside.hpp), by how long
// the program took between its last start and its last wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "device/stream.hpp"
#include "plan/queue_aside.hpp"

namespace sluice::ops::queue {

// Of one queue with the engine `device`; of another one it chooses that nothing goes aside. One thread at a time.
class AsideChoice {
 public:
  // Has the sides of `stream`, which outlives this, made here rather than at a start.
  AsideChoice(const device::Stream &stream, bool is_of_device);

  [[nodiscard]] plan::QueueAsidePlan sends();
  // Whether it receives aside, too, where it sends so.
  [[nodiscard]] bool receives(const plan::QueueAsidePlan &sends);
  // The queue's start returns; its wait begins.
  void note_start() noexcept {
    if (wanted_ == plan::QueueAside::kAuto) last_start_ = Clock::now();
  }
  void note_wait() noexcept {
    if (wanted_ != plan::QueueAside::kAuto) return;
    const auto between = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - last_start_);
    start_to_wait_ns_ = static_cast<std::uint64_t>(between.count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  const device::Stream &stream_;
  const bool is_of_device_;
  plan::QueueAside wanted_ = plan::QueueAside::kNever;
  Clock::time_point last_start_;                      // when it returned
  std::optional<std::uint64_t> start_to_wait_ns_;     // the last time
  std::optional<plan::QueueAsidePlan> chosen_sends_;  // the last time
  std::optional<plan::QueueAsidePlan> chosen_receives_;
};

}  // namespace sluice::ops::queue
