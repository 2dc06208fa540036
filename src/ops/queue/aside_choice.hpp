// SPDX-License-Identifier: BSD-3-Clause
// AsideChoice: whether what a queue's stream sends and receives goes aside of it (plan/queue_aside.hpp), by how long
// the program took between its last start and its last wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "device/stream.hpp"
#include "plan/queue_aside.hpp"

namespace sluice::ops::queue {

// Of one queue whose carriers can go aside; of another one it chooses that nothing does. One thread at a time.
class AsideChoice {
 public:
  // Has the sides of `stream`, which outlives this, made here rather than at a start.
  AsideChoice(const device::Stream &stream, bool can_go_aside) : stream_(stream), can_go_aside_(can_go_aside) {
    if (!can_go_aside) return;
    wanted_ = plan::queue_aside_of(Knobs::process().text("SLUICE_QUEUE_ASIDE"));
    if (wanted_ != plan::QueueAside::kNever && stream_.has_side()) static_cast<void>(stream_.has_side_for_receives());
  }

  [[nodiscard]] plan::QueueAsidePlan sends() {
    if (!can_go_aside_) return {};
    const bool may_go = wanted_ != plan::QueueAside::kNever && stream_.has_side();
    const plan::QueueAsideQuery query{wanted_, may_go, stream_.is_unjoined(), start_to_wait_ns_};
    const plan::QueueAsidePlan plan = choose_queue_aside(query);
    if (plan != chosen_sends_) log::debug("plan", [&] { return explain(query, plan); });
    chosen_sends_ = plan;
    return plan;
  }
  // Whether it receives aside, too, where it sends so.
  [[nodiscard]] bool receives(const plan::QueueAsidePlan &sends) {
    const bool has_side = sends.is_aside && stream_.has_side_for_receives();
    const plan::QueueAsidePlan plan = choose_receives_aside(sends, has_side, stream_.are_receives_unjoined());
    if (plan != chosen_receives_) log::debug("plan", [&] { return explain_receives(plan); });
    chosen_receives_ = plan;
    return plan.is_aside;
  }
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
  const bool can_go_aside_;
  plan::QueueAside wanted_ = plan::QueueAside::kNever;
  Clock::time_point last_start_;                      // when it returned
  std::optional<std::uint64_t> start_to_wait_ns_;     // the last time
  std::optional<plan::QueueAsidePlan> chosen_sends_;  // the last time
  std::optional<plan::QueueAsidePlan> chosen_receives_;
};

}  // namespace sluice::ops::queue
