// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/aside_choice.hpp"

#include "base/knobs.hpp"
#include "base/log.hpp"

namespace sluice::ops::queue {

AsideChoice::AsideChoice(const device::Stream &stream, bool is_of_device)
    : stream_(stream), is_of_device_(is_of_device) {
  if (!is_of_device) return;
  wanted_ = plan::queue_aside_of(Knobs::process().text("SLUICE_QUEUE_ASIDE"));
  if (wanted_ != plan::QueueAside::kNever && stream_.has_side()) static_cast<void>(stream_.has_side_for_receives());
}

plan::QueueAsidePlan AsideChoice::sends() {
  if (!is_of_device_) return {};
  const bool may_go = wanted_ != plan::QueueAside::kNever && stream_.has_side();
  const plan::QueueAsideQuery query{wanted_, may_go, stream_.is_unjoined(), start_to_wait_ns_};
  const plan::QueueAsidePlan plan = choose_queue_aside(query);
  if (plan != chosen_sends_ && log::level() >= log::Level::kDebug) log::debug("plan", explain(query, plan));
  chosen_sends_ = plan;
  return plan;
}

bool AsideChoice::receives(const plan::QueueAsidePlan &sends) {
  const bool has_side = sends.is_aside && stream_.has_side_for_receives();
  const plan::QueueAsidePlan plan = choose_receives_aside(sends, has_side, stream_.are_receives_unjoined());
  if (plan != chosen_receives_ && log::level() >= log::Level::kDebug) log::debug("plan", explain_receives(plan));
  chosen_receives_ = plan;
  return plan.is_aside;
}

}  // namespace sluice::ops::queue
