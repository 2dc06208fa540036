// SPDX-License-Identifier: BSD-3-Clause
// How a batch of a queue is started: room in the stream, what the stream copies and sends by itself, and the trigger.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ranges>

#include "base/knobs.hpp"
#include "ops/queue/batch_queue.hpp"
#include "plan/stream_channel.hpp"

namespace sluice::ops::queue {

// As many batches as queue_depth says may be ahead of the stream, and with messages of many commands fewer: runtimes
// take about a thousand commands (docs/adr/0032).
std::uint64_t BatchQueue::least_trigger() {
  static const std::uint64_t depth = Knobs::process().number("queue_depth");
  constexpr std::uint64_t kCommandsOfABatch = 8;
  const std::uint64_t triggered = stream_->triggered();
  while (!commands_.empty() && commands_.front().batch < triggered) commands_.pop_front();
  release_backs();
  const std::uint64_t n_ahead = depth + backs_.size();  // what says that copies are made is no batch of the program's
  std::uint64_t least = n_started_ >= n_ahead ? n_started_ - n_ahead + 1 : 0;
  std::uint64_t n_commands = 0;
  for (const Commands &batch : std::views::reverse(commands_)) {
    n_commands += batch.count;
    if (n_commands <= depth * kCommandsOfABatch) continue;
    least = std::max(least, batch.batch);
    break;
  }
  return std::min(least, n_started_);
}

Status BatchQueue::await_room() {
  const std::uint64_t least = least_trigger();
  std::uint64_t seen = stream_->triggered();
  if (seen >= least) return {};
  const std::chrono::nanoseconds most = Knobs::process().duration("queue_patience");
  auto since = std::chrono::steady_clock::now();
  progress::Patience patience;
  for (;;) {
    patience.pause();
    const std::uint64_t now_at = stream_->triggered();
    if (now_at >= least) return {};
    const auto time = std::chrono::steady_clock::now();
    if (now_at != seen) {
      seen = now_at;
      since = time;
    } else if (time - since > most) {
      return Status::error(
          ErrorKind::kUnsupported,
          fmt::format("{} batches of the queue are enqueued that the stream has not come to, and it has not moved for "
                      "{} ms; nothing was enqueued. Let the stream go on and call again, or raise queue_depth or "
                      "queue_patience (SLUICE_TUNING)",
                      n_started_ - now_at, std::chrono::duration_cast<std::chrono::milliseconds>(most).count()));
    }
  }
}

void BatchQueue::plan_copies() {
  copies_.clear();
  copies_.reserve(2 * open_.size());
  for (const MessagePtr &message : open_) message->plan_copies(&copies_);
  rider_.reset();
}

void BatchQueue::take_rider() {
  if (copies_.empty() || copies_.back().size_bytes > device::Stream::kLongCopyBytes) return;
  rider_ = copies_.back();
  copies_.pop_back();
}

Status BatchQueue::plan_starts(bool is_aside, bool are_received_aside) {
  plan_copies();
  if (!is_aside) take_rider();
  sends_.clear();
  planned_.clear();
  receives_.clear();
  planned_receives_.clear();
  sends_.reserve(open_.size() + 1);
  planned_.reserve(open_.size());
  receives_.reserve(SLUICE_STREAM_MOST_RECEIVES_ASIDE);
  planned_receives_.reserve(SLUICE_STREAM_MOST_RECEIVES_ASIDE);
  auto lock = carriers_->hold();
  std::uint64_t n_ahead = plan::kNoLimit;
  for (const MessagePtr &message : open_) {
    if (Status status = message->prepare(); !status.is_ok()) return status;
    n_ahead = std::min(n_ahead, message->batches_with_room());
  }
  // A stream that is far behind has not sent yet what is in the way of long messages.
  if (n_started_ >= n_ahead && stream_->triggered() < n_started_ - n_ahead + 1) {
    if (lock.owns_lock()) lock.unlock();
    moving_.await(n_started_ - n_ahead + 1);
    lock = carriers_->hold();
  }
  if (!copies_.empty()) {
    if (lock.owns_lock()) lock.unlock();
    unsigned *n_commands = &commands_.back().count;
    if (Status status = stream_->enqueue_copies(copies_, n_started_, is_aside, n_commands); !status.is_ok()) {
      return status;
    }
    lock = carriers_->hold();
  }
  for (const MessagePtr &message : open_) {
    sluice_stream_send_t send{};
    if (!message->plan_start(&send)) continue;
    sends_.push_back(send);
    planned_.push_back(message);
  }
  if (!are_received_aside) return {};
  for (const MessagePtr &message : open_) {
    if (receives_.size() == SLUICE_STREAM_MOST_RECEIVES_ASIDE) break;  // the others at the wait
    sluice_stream_receive_t receive{};
    if (!message->plan_aside(&receive)) continue;
    receives_.push_back(receive);
    planned_receives_.push_back(message);
  }
  return {};
}

// Null: none of the sends is a signal, or several are, which would not be behind the copy that one of them carries.
sluice_stream_send_t *BatchQueue::find_only_signal() {
  const auto is_signal = [](const MessagePtr &message) { return message->is_signal(); };
  if (std::ranges::count_if(planned_, is_signal) != 1) return nullptr;
  return &sends_[static_cast<std::size_t>(std::ranges::find_if(planned_, is_signal) - planned_.begin())];
}

// The only signal has it, or else the trigger, where that would go alone; or else it is enqueued before all. The
// trigger says that the copies are done, so it does not go beside one.
Status BatchQueue::place_rider(const sluice_copy_t &rider, sluice_stream_send_t *trigger, bool *goes_along,
                               unsigned *n_commands) {
  sluice_stream_send_t alone = stream_->trigger(n_started_);
  sluice_stream_send_t *carrier = find_only_signal();
  if (carrier != nullptr) {
    *goes_along = false;
  } else if (sends_.empty()) {
    carrier = trigger;
    *goes_along = true;
  } else {
    carrier = &alone;
  }
  carrier->dst = rider.dst;
  carrier->src = rider.src;
  carrier->size_bytes = rider.size_bytes;
  if (carrier != &alone) return {};
  sluice_stream_enqueued_t enqueued{};
  Status status = stream_->enqueue_sends({&alone, 1}, &enqueued);
  *n_commands += enqueued.n_commands;
  return status;
}

// What the stream does by itself comes before the trigger or beside it: that is for the host, which is not on the way.
// Behind a batch that went aside a trigger goes there alone, too: in the stream it might be seen before the earlier
// one.
Status BatchQueue::enqueue_starts(std::uint64_t number, bool is_aside, unsigned *n_commands, bool *is_triggered) {
  sluice_stream_send_t trigger = stream_->trigger(number);
  bool goes_along = !sends_.empty() || stream_->is_unjoined();
  Status status;
  if (rider_) status = place_rider(*rider_, &trigger, &goes_along, n_commands);
  if (goes_along) sends_.push_back(trigger);
  sluice_stream_enqueued_t enqueued{};
  if (status.is_ok() && !sends_.empty()) {
    status = is_aside ? stream_->enqueue_sends_aside(sends_, &enqueued) : stream_->enqueue_sends(sends_, &enqueued);
    *n_commands += enqueued.n_commands;
  }
  *is_triggered = goes_along && enqueued.n_messages == sends_.size();
  sends_.clear();
  tell(&planned_, enqueued.n_messages, rider_ ? Status() : status, &Message::start_enqueued);
  return rider_ ? status : Status();  // nobody else makes the copy
}

void BatchQueue::enqueue_receives_aside(bool is_with_sends, unsigned *n_commands) {
  if (planned_receives_.empty()) return;
  sluice_stream_enqueued_t enqueued{};
  const Status status = stream_->enqueue_receives_aside(receives_, is_with_sends, &enqueued);
  receives_.clear();
  *n_commands += enqueued.n_commands;
  tell(&planned_receives_, enqueued.n_messages, status, &Message::wait_enqueued);
}

// No lock that a turn takes is held while the stream is told: a runtime may block there until the stream has room,
// which it may not have before a turn completes what it waits for. So the stream may come to the trigger before a turn
// knows of the batch; the next one does.
Status BatchQueue::start() {
  const std::scoped_lock one_at_a_time(calls_);
  if (is_freed_) return was_freed();
  if (is_captured()) return start_captured();
  if (std::ranges::any_of(open_, &Message::is_captured)) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "messages that were enqueued while the stream was captured into a graph are started within "
                         "the same capture, and it is over; begin another and call MPIX_Enqueue_start in it");
  }
  if (Status status = await_room(); !status.is_ok()) return status;
  BatchList batch;
  batch.push_back({n_started_ + 1, open_, false});
  {
    const std::scoped_lock lock(mutex_);
    forget_complete(&incomplete_);
    incomplete_.reserve(incomplete_.size() + open_.size());
  }
  forget_complete(&unawaited_);
  unawaited_.reserve(unawaited_.size() + open_.size());
  const plan::QueueAsidePlan aside = aside_.sends();
  commands_.push_back({n_started_ + 1, 1});  // here, because behind the plans nothing may throw
  if (Status status = plan_starts(aside.is_aside, waits_ == Waits::kForAll && aside_.receives(aside));
      !status.is_ok()) {
    commands_.pop_back();
    return status;
  }
  bool is_triggered = false;
  Status status = enqueue_starts(n_started_ + 1, aside.is_aside, &commands_.back().count, &is_triggered);
  if (status.is_ok() && !is_triggered) status = stream_->enqueue_trigger(n_started_ + 1);
  if (!status.is_ok()) {
    tell(&planned_receives_, 0, {}, &Message::wait_enqueued);
    commands_.pop_back();
    return status;
  }
  enqueue_receives_aside(is_triggered && aside.is_aside, &commands_.back().count);
  ++n_started_;
  unawaited_.insert(unawaited_.end(), open_.begin(), open_.end());
  reserve_.begin_batch();
  const std::scoped_lock lock(mutex_);
  incomplete_.insert(incomplete_.end(), open_.begin(), open_.end());
  open_.clear();
  started_.splice(started_.end(), batch);
  come();
  aside_.note_start();
  return {};
}

// There is nothing for the stream to trigger: each launch of the graph starts the messages. What is left for the turns
// is to let both sides know of each other.
Status BatchQueue::start_captured() {
  {
    const std::scoped_lock lock(mutex_);
    forget_complete(&incomplete_);
    incomplete_.reserve(incomplete_.size() + open_.size());
    started_captured_.reserve(started_captured_.size() + open_.size());
  }
  if (!std::ranges::all_of(open_, &Message::is_captured)) {
    return Status::error(ErrorKind::kUnsupported,
                         "the stream is being captured into a graph, and a message of this batch is not to be: "
                         "collective and persistent operations cannot be, nor what was enqueued before the capture "
                         "began; start those outside of it");
  }
  std::vector<sluice_captured_t> planned;
  {
    const auto lock = carriers_->hold();
    plan_copies();
    if (std::ranges::count_if(open_, &Message::is_signal) == 1) take_rider();
    for (const MessagePtr &message : open_) {
      if (Status status = message->prepare(); !status.is_ok()) return status;
      if (rider_ && message->is_signal()) message->carry(*rider_);
      sluice_captured_t captured{};
      if (message->plan_captured(&captured)) planned.push_back(captured);
    }
    if (Status status = stream_->capture_copies(copies_); !status.is_ok()) return status;
    if (Status status = stream_->capture(planned); !status.is_ok()) return status;
  }
  reserve_.begin_batch();
  const std::scoped_lock lock(mutex_);
  incomplete_.insert(incomplete_.end(), open_.begin(), open_.end());
  started_captured_.insert(started_captured_.end(), open_.begin(), open_.end());
  open_.clear();
  come();
  return {};
}

}  // namespace sluice::ops::queue
