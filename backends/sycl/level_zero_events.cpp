// SPDX-License-Identifier: BSD-3-Clause
#include "level_zero_events.h"

#include <utility>

namespace sluice::backends::sycl::level_zero {

namespace {

constexpr std::uint32_t kHostVisible = 1;
constexpr std::uint32_t kHostScope = 4;

}  // namespace

// An error would mean that it is gone already.
EventPool::~EventPool() {
  calls_.destroy_event_pool(native_);
}

Outcome EventPool::make(void **event) {
  const EventDescription description{.index = n_made_, .signal = kHostScope, .wait = kHostScope};
  Outcome outcome = outcome_of("zeEventCreate", calls_.create_event(native_, &description, event));
  if (outcome.is_success()) ++n_made_;
  return outcome;
}

Event::Event(const Calls &calls, std::shared_ptr<EventPool> pool, void *native)
    : calls_(calls), pool_(std::move(pool)), native_(native) {}

// An error would mean that it is gone already.
Event::~Event() {
  calls_.destroy_event(native_);
}

Outcome Event::make(const Calls &calls, Context context, std::shared_ptr<EventPool> *pool,
                    std::unique_ptr<Event> *event) {
  if (*pool == nullptr || (*pool)->is_used_up()) {
    const EventPoolDescription description{.flags = kHostVisible, .count = EventPool::kEvents};
    void *made = nullptr;
    Outcome outcome =
        outcome_of("zeEventPoolCreate", calls.create_event_pool(context, &description, 0, nullptr, &made));
    if (!outcome.is_success()) return outcome;
    *pool = std::make_shared<EventPool>(calls, made);
  }
  void *native = nullptr;
  Outcome outcome = (*pool)->make(&native);
  if (outcome.is_success()) event->reset(new Event(calls, *pool, native));
  return outcome;
}

}  // namespace sluice::backends::sycl::level_zero
