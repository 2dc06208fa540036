// SPDX-License-Identifier: BSD-3-Clause
// StreamWay by events: the queue holds itself back, and a thread of the module lets it go.
#include <deque>
#include <mutex>
#include <vector>

#include "host_event.h"
#include "stream_way.h"
#include "watcher.h"

namespace sluice::backends::sycl {

namespace {

// What commands that may not be done yet need, in the order of their queue.
struct Behind {
  ::sycl::event command;
  std::shared_ptr<void> needed;
};
using Pending = std::deque<Behind>;

void drop_passed(Pending *pending) {
  constexpr auto kComplete = ::sycl::info::event_command_status::complete;
  while (!pending->empty() &&
         pending->front().command.get_info<::sycl::info::event::command_execution_status>() == kComplete)
    pending->pop_front();
}

// Of streams that were closed before their queue was through. Looked at again when the next one is closed; never
// destroyed, as at exit the runtime may be gone before this module.
void keep_until_passed(Pending pending) {
  static std::mutex mutex;
  static auto *const closed = new std::vector<Pending>();
  const std::scoped_lock lock(mutex);
  closed->push_back(std::move(pending));
  for (Pending &one : *closed) drop_passed(&one);
  std::erase_if(*closed, [](const Pending &one) { return one.empty(); });
}

class EventWay : public StreamWay {
 public:
  EventWay(::sycl::queue queue, std::unique_ptr<HostEvents> events)
      : queue_(std::move(queue)), events_(std::move(events)) {}
  // What the runtime does not say is not done: then the events stay for good.
  ~EventWay() override {
    try {
      keep_until_passed(std::move(pending_));
    } catch (const std::exception &error) {
      fail(SLUICE_ERROR_NATIVE, error.what());
    }
  }
  EventWay(const EventWay &) = delete;
  EventWay &operator=(const EventWay &) = delete;

  // The queue is in order. Eight aligned bytes come at once: nobody saw a half (docs/adr/0040). On Level Zero the
  // runtime fills by a kernel that a SYCL compiler has to have made, and none has made this module.
  Outcome write(uint64_t *word, uint64_t value) override {
    if (queue_.get_backend() == ::sycl::backend::ext_oneapi_level_zero) {
      drop_passed(&pending_);
      const auto source = std::make_shared<uint64_t>(value);
      pending_.push_back({queue_.memcpy(word, source.get(), sizeof value), source});
    } else {
      queue_.fill(word, value, 1);
    }
    queue_.ext_oneapi_prod();
    return {};
  }

  // Watched before it is enqueued, so that no barrier is left alone. A word only ever grows: one that is there is no
  // wait.
  Outcome wait(const uint64_t *word, uint64_t least) override {
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= least) return {};
    drop_passed(&pending_);
    std::shared_ptr<HostEvent> event;
    Outcome outcome = events_->make(&event);
    if (!outcome.is_success()) return outcome;
    pending_.push_back({event->event(), event});
    outcome = watch(word, least, event);
    if (outcome.is_success()) {
      pending_.back().command = queue_.ext_oneapi_submit_barrier({pending_.back().command});
      queue_.ext_oneapi_prod();  // some runtimes keep commands back until somebody waits
    } else {
      pending_.pop_back();
    }
    return outcome;
  }

 private:
  ::sycl::queue queue_;
  std::unique_ptr<HostEvents> events_;
  Pending pending_;
};

}  // namespace

Outcome open_event_way(const ::sycl::queue &queue, std::unique_ptr<StreamWay> *way) {
  std::unique_ptr<HostEvents> events;
  Outcome outcome{SLUICE_ERROR_UNSUPPORTED, "the runtime underneath has no events that the host completes"};
  if (queue.get_backend() == ::sycl::backend::opencl) outcome = open_opencl_events(queue.get_context(), &events);
  if (queue.get_backend() == ::sycl::backend::ext_oneapi_level_zero)
    outcome = open_level_zero_events(queue.get_context(), &events);
  if (outcome.is_success()) *way = std::make_unique<EventWay>(queue, std::move(events));
  return outcome;
}

}  // namespace sluice::backends::sycl
