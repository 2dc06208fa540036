// SPDX-License-Identifier: BSD-3-Clause
// HostEvent of Level Zero: all that needs the runtime above. Run on the emulated GPU only.
#include <sycl/ext/oneapi/backend/level_zero.hpp>

#include "host_event.h"
#include "level_zero_events.h"
#include "native_range.h"

namespace sluice::backends::sycl {

namespace {

class LevelZeroEvent : public HostEvent {
 public:
  LevelZeroEvent(std::unique_ptr<level_zero::Event> native, ::sycl::context context)
      : native_(std::move(native)), context_(std::move(context)) {}

  // The runtime only looks at it.
  ::sycl::event event() const override {
    constexpr auto kBackend = ::sycl::backend::ext_oneapi_level_zero;
    return ::sycl::make_event<kBackend>(
        {static_cast<ze_event_handle_t>(native_->native()), ::sycl::ext::oneapi::level_zero::ownership::keep},
        context_);
  }
  Outcome complete() override { return native_->signal(); }

 private:
  std::unique_ptr<level_zero::Event> native_;
  ::sycl::context context_;
};

class LevelZeroEvents : public HostEvents {
 public:
  LevelZeroEvents(const level_zero::Calls &calls, ::sycl::context context)
      : calls_(calls), context_(std::move(context)) {}

  Outcome make(std::shared_ptr<HostEvent> *event) override {
    std::unique_ptr<level_zero::Event> native;
    Outcome outcome = level_zero::Event::make(calls_, level_zero_context(context_), &pool_, &native);
    if (outcome.is_success()) *event = std::make_shared<LevelZeroEvent>(std::move(native), context_);
    return outcome;
  }

 private:
  const level_zero::Calls &calls_;
  ::sycl::context context_;
  std::shared_ptr<level_zero::EventPool> pool_;
};

}  // namespace

Outcome open_level_zero_events(const ::sycl::context &context, std::unique_ptr<HostEvents> *events) {
  const level_zero::Calls *calls = nullptr;
  Outcome outcome = level_zero::find_calls_of_process(&calls);
  if (outcome.is_success()) outcome = level_zero::check_event_calls(*calls);
  if (!outcome.is_success()) return outcome;
  *events = std::make_unique<LevelZeroEvents>(*calls, context);
  return {};
}

}  // namespace sluice::backends::sycl
