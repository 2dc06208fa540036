// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/batch_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ranges>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "ops/datatype/layout_of.hpp"
#include "plan/stream_channel.hpp"

namespace sluice::ops::queue {
namespace {

void forget_complete(std::vector<MessagePtr> *messages) {
  std::erase_if(*messages, [](const MessagePtr &message) { return message->is_complete(); });
}

// Tells the messages that were planned whether they are in the stream: the first ones are. Failures are theirs to make
// good.
void tell(std::vector<MessagePtr> *planned, std::size_t n_in_stream, const Status &status,
          void (Message::*told)(bool)) {
  if (!status.is_ok()) {
    log::warn_once("queue_channel", "ops", status.message() + "; such messages go by the progress thread");
  }
  for (std::size_t k = 0; k < planned->size(); ++k) (*(*planned)[k].*told)(k < n_in_stream);
  planned->clear();
}

}  // namespace

Status BatchQueue::was_freed() {
  return Status::error(ErrorKind::kInvalidArgument,
                       "the queue was freed (MPIX_Free_queue) before this call; make another one");
}

bool BatchQueue::has_taken(const Arguments &given) {
  const std::scoped_lock lock(calls_);
  const auto is_meant = [&](const Arguments &taken) {
    return taken.peer == given.peer && taken.tag == given.tag && taken.is_send == given.is_send &&
           taken.type == given.type && taken.comm == given.comm;
  };
  return given.count >= 0 && taken_.find(is_meant) != nullptr;
}

void BatchQueue::note_taken(const Arguments &given) {
  transfer::LayoutPtr layout;
  if (given.count < 0 || !named_layout(given.type, &layout)) return;
  if (given.comm != MPI_COMM_WORLD && state_of(given.comm) == nullptr) return;
  const std::scoped_lock lock(calls_);
  taken_.keep(given);
}

Status BatchQueue::enqueue(const Arguments &given, MPI_Request *request) {
  transfer::Region region;
  if (Status status = classify_buffer(given, *stream_, &region); !status.is_ok()) return status;
  MessagePtr message;
  {
    const std::scoped_lock lock(calls_);
    if (is_freed_) return was_freed();
    if (Status status = carriers_->carry(given, region, &message); !status.is_ok()) return status;
    const bool is_staged = region.place.kind == MemoryKind::kDevice && !message->is_captured();
    if (is_staged) reserve_.add(region.place, region.size_bytes());
  }
  return enqueue(message, request);
}

Status BatchQueue::enqueue(const MessagePtr &message, MPI_Request *request) {
  if (Status status = message->open(request); !status.is_ok()) return status;
  Status status;
  try {
    const std::scoped_lock lock(calls_);
    if (is_freed_) {
      status = was_freed();
    } else {
      open_.push_back(message);
    }
  } catch (...) {
    message->withdraw(request);
    throw;
  }
  if (!status.is_ok()) message->withdraw(request);
  return status;
}

// As many batches as queue_depth says may be ahead of the stream, and with messages of many commands fewer: runtimes
// take about a thousand commands (docs/adr/0032).
std::uint64_t BatchQueue::least_trigger() {
  static const std::uint64_t depth = Knobs::process().number("queue_depth");
  constexpr std::uint64_t kCommandsOfABatch = 8;
  const std::uint64_t triggered = stream_->triggered();
  while (!commands_.empty() && commands_.front().batch < triggered) commands_.pop_front();
  std::uint64_t least = n_started_ >= depth ? n_started_ - depth + 1 : 0;
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

Status BatchQueue::plan_starts(bool are_received_aside) {
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

// What the stream does by itself comes before the trigger or beside it: that is for the host, which is not on the way.
// Behind a batch that went aside a trigger goes there alone, too: in the stream it might be seen before the earlier
// one.
bool BatchQueue::enqueue_starts(std::uint64_t trigger, bool is_aside, unsigned *n_commands) {
  if (sends_.empty() && !stream_->is_unjoined()) return false;
  sends_.push_back(stream_->trigger(trigger));
  sluice_stream_enqueued_t enqueued{};
  const Status status =
      is_aside ? stream_->enqueue_sends_aside(sends_, &enqueued) : stream_->enqueue_sends(sends_, &enqueued);
  const bool is_triggered = enqueued.n_messages == sends_.size();
  sends_.clear();
  *n_commands += enqueued.n_commands;
  tell(&planned_, enqueued.n_messages, status, &Message::start_enqueued);
  return is_triggered;
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
  if (Status status = plan_starts(aside_.receives(aside)); !status.is_ok()) {
    commands_.pop_back();
    return status;
  }
  const bool is_triggered = enqueue_starts(n_started_ + 1, aside.is_aside, &commands_.back().count);
  if (!is_triggered) {
    if (Status status = stream_->enqueue_trigger(n_started_ + 1); !status.is_ok()) {
      tell(&planned_receives_, 0, {}, &Message::wait_enqueued);
      commands_.pop_back();
      return status;
    }
  }
  enqueue_receives_aside(is_triggered && aside.is_aside, &commands_.back().count);
  ++n_started_;
  if (carriers_->can_wait()) unawaited_.insert(unawaited_.end(), open_.begin(), open_.end());
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
    for (const MessagePtr &message : open_) {
      if (Status status = message->prepare(); !status.is_ok()) return status;
      sluice_captured_t captured{};
      if (message->plan_captured(&captured)) planned.push_back(captured);
    }
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

bool BatchQueue::enqueue_waits(unsigned *n_commands) {
  if (!carriers_->can_wait()) return false;
  receives_.clear();
  planned_.clear();
  receives_.reserve(unawaited_.size());
  planned_.reserve(unawaited_.size());
  bool is_by_stream = true;
  {
    const auto lock = carriers_->hold();
    for (const MessagePtr &message : unawaited_) {
      sluice_stream_receive_t receive{};
      if (message->is_complete()) continue;
      const Message::Wait wait = message->plan_wait(&receive);
      if (wait == Message::Wait::kForPoll) is_by_stream = false;
      if (wait != Message::Wait::kCommand) continue;
      receives_.push_back(receive);
      planned_.push_back(message);
    }
  }
  if (planned_.empty()) return is_by_stream;
  sluice_stream_enqueued_t enqueued{};
  const Status status = stream_->enqueue_receives(receives_, &enqueued);
  receives_.clear();
  *n_commands += enqueued.n_commands;
  is_by_stream = is_by_stream && enqueued.n_messages == planned_.size();
  tell(&planned_, enqueued.n_messages, status, &Message::wait_enqueued);
  return is_by_stream;
}

Status BatchQueue::wait() {
  const std::scoped_lock one_at_a_time(calls_);
  if (is_freed_) return was_freed();
  if (is_captured()) return stream_->capture_join();
  if (n_started_ == 0) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "nothing was started on this queue, so there is nothing to wait for; call MPIX_Enqueue_start "
                         "before MPIX_Enqueue_wait");
  }
  // The stream is past it when it comes here: it waited for as much before.
  if (n_awaited_ == n_started_) return {};
  aside_.note_wait();
  unsigned n_commands = 1;
  for (const bool is_unjoined : {stream_->is_unjoined(), stream_->are_receives_unjoined()}) {
    if (is_unjoined) n_commands += device::Stream::kCommandsOfJoin;
  }
  // Before the stream waits for anybody else: what comes behind may change what is being sent, and need not know how;
  // and before it takes anything else out of the same channels.
  if (Status status = stream_->join_all(); !status.is_ok()) return status;
  const bool is_by_stream = enqueue_waits(&n_commands);
  if (!commands_.empty()) commands_.back().count += n_commands;
  Status status;
  if (!is_by_stream) status = stream_->enqueue_wait(n_started_);
  if (!status.is_ok()) return status;
  unawaited_.clear();
  n_awaited_ = n_started_;
  return {};
}

Status BatchQueue::free() {
  const std::scoped_lock one_at_a_time(calls_);
  if (is_freed_) return was_freed();
  // A stream that is past its wait has said so; it may be that nobody has looked since.
  std::size_t n_incomplete = 0;
  progress::turn_until([&] {
    const std::scoped_lock lock(mutex_);
    forget_complete(&incomplete_);
    n_incomplete = incomplete_.size();
    return std::ranges::none_of(incomplete_, [](const MessagePtr &message) { return message->is_done_by_stream(); });
  });
  if (open_.size() + n_incomplete != 0) {
    return Status::error(
        ErrorKind::kInvalidArgument,
        fmt::format("the queue has {} messages that were not started and {} that are not complete; start them, wait "
                    "for them (MPI_Waitall, or MPIX_Enqueue_wait and the stream), then free it",
                    open_.size(), n_incomplete));
  }
  is_freed_ = true;
  stream_->close();
  return {};
}

bool BatchQueue::advance() {
  {
    const std::scoped_lock lock(mutex_);
    running_.splice(running_.end(), started_);
    captured_.insert(captured_.end(), started_captured_.begin(), started_captured_.end());
    started_captured_.clear();
  }
  // No lock from here on: messages may call an error handler of the program's, which may call MPI.
  carriers_->turn();
  const std::uint64_t triggered = stream_->triggered();
  std::size_t n_complete = std::erase_if(captured_, [](const MessagePtr &message) { return message->poll(); });
  for (Batch &batch : running_) {
    if (batch.number > triggered) break;
    if (!batch.is_begun) {
      batch.is_begun = true;
      for (const MessagePtr &message : batch.messages) message->begin();
    }
    n_complete += std::erase_if(batch.messages, [](const MessagePtr &message) { return message->poll(); });
  }
  while (!running_.empty() && running_.front().is_begun && running_.front().messages.empty()) {
    stream_->complete(running_.front().number);
    running_.pop_front();
  }
  const std::scoped_lock lock(mutex_);
  // Here rather than at the next start, which the program waits for.
  if (n_complete != 0) forget_complete(&incomplete_);
  const bool has_messages = !running_.empty() || !started_.empty() || !captured_.empty() || !started_captured_.empty();
  return may_go(!has_messages && carriers_->is_idle());
}

}  // namespace sluice::ops::queue
