// SPDX-License-Identifier: BSD-3-Clause
// Events of Level Zero that the host signals. Nothing here knows the runtime above.
#pragma once

#include <cstdint>
#include <memory>

#include "level_zero.h"

namespace sluice::backends::sycl::level_zero {

// A pool of events that the host sees, on all devices of a context. Lives as long as its events do.
class EventPool {
 public:
  static constexpr std::uint32_t kEvents = 64;

  EventPool(const Calls &calls, void *native) : calls_(calls), native_(native) {}
  ~EventPool();
  EventPool(const EventPool &) = delete;
  EventPool &operator=(const EventPool &) = delete;

  // Each place once.
  bool is_used_up() const { return n_made_ == kEvents; }
  Outcome make(void **event);

 private:
  const Calls &calls_;
  void *native_;
  std::uint32_t n_made_ = 0;
};

// Destroyed when no command waits for it any more.
class Event {
 public:
  // Takes a place in *pool, which is made anew when it is null or used up. One thread at a time.
  static Outcome make(const Calls &calls, Context context, std::shared_ptr<EventPool> *pool,
                      std::unique_ptr<Event> *event);
  ~Event();
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  void *native() const { return native_; }
  // Commands that wait for it go on. Any thread.
  Outcome signal() { return outcome_of("zeEventHostSignal", calls_.signal_event(native_)); }

 private:
  Event(const Calls &calls, std::shared_ptr<EventPool> pool, void *native);

  const Calls &calls_;
  std::shared_ptr<EventPool> pool_;
  void *native_;
};

}  // namespace sluice::backends::sycl::level_zero
