// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/batch_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/log.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/queue/copied_messages.hpp"

namespace sluice::ops::queue {

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

Status BatchQueue::make(const Arguments &given, MessagePtr *message) {
  transfer::Region region;
  if (Status status = classify_buffer(given, *stream_, &region); !status.is_ok()) return status;
  const std::scoped_lock lock(calls_);
  if (is_freed_) return was_freed();
  if (copies_messages_ && can_be_copied(region, *stream_)) {
    Status status = make_copied_message(given, region, message);
    if (!status.is_ok() || *message != nullptr) return status;
  }
  if (Status status = carriers_->carry(given, region, message); !status.is_ok()) return status;
  const bool is_staged = region.place.kind == MemoryKind::kDevice && !(*message)->is_captured();
  if (is_staged) reserve_.add(region.place, region.size_bytes());
  return {};
}

Status BatchQueue::make(const CollectiveArguments &given, MessagePtr *message) const {
  Status status = make_collective_message(given, *stream_, message);
  const bool is_copied = copies_messages_ && given.operation == Operation::kEnqueueAllreduce;
  return status.is_ok() && is_copied ? make_copied_reduction(given, *stream_, message) : status;
}

Status BatchQueue::enqueue(const Arguments &given, MPI_Request *request) {
  MessagePtr message;
  if (Status status = make(given, &message); !status.is_ok()) return status;
  return enqueue(message, request);
}

Status BatchQueue::enqueue(const MessagePtr &message, MPI_Request *request) {
  if (request != nullptr) {
    if (Status status = message->open(request); !status.is_ok()) return status;
  }
  Status status;
  try {
    const std::scoped_lock lock(calls_);
    if (is_freed_) {
      status = was_freed();
    } else {
      message->set_queue(std::static_pointer_cast<BatchQueue>(shared_from_this()));
      open_.push_back(message);
    }
  } catch (...) {
    message->withdraw(request);
    throw;
  }
  if (!status.is_ok()) message->withdraw(request);
  return status;
}

bool BatchQueue::take_back(const MessagePtr &message, MPI_Request *request) {
  const std::scoped_lock lock(calls_);
  if (std::ranges::find(open_, message) == open_.end()) return false;
  backs_.push_back({n_started_ + 1, {message}});  // the stream may have some of its copies
  std::erase(open_, message);
  message->withdraw(request);
  return true;
}

Status BatchQueue::enqueue_access(const rma::WindowPtr &window, const rma::Call &call, MPI_Request *request) {
  MessagePtr message;
  {
    const std::scoped_lock lock(calls_);
    if (is_freed_) return was_freed();
    Status status = one_sided_.make_access(window, call, comm_of_errors(), *stream_, is_captured(), &message);
    if (!status.is_ok()) return status;
  }
  return enqueue(message, request);
}

Status BatchQueue::enqueue_signal(const rma::WindowPtr &window, bool is_send, int peer, MPI_Request *request) {
  MessagePtr message;
  {
    const std::scoped_lock lock(calls_);
    if (is_freed_) return was_freed();
    const Arguments given{is_send, nullptr, 0, MPI_BYTE, peer, 0, comm_of_errors(), true};
    Status status = one_sided_.make_signal(given, window, comm_, *stream_, carriers_.get(), &message);
    if (!status.is_ok()) return status;
  }
  return enqueue(message, request);
}

void BatchQueue::tell(std::vector<MessagePtr> *planned, std::size_t n_in_stream, const Status &status,
                      void (Message::*told)(bool)) {
  if (!status.is_ok()) {
    log::warn_once("queue_channel", "ops", status.message() + "; such messages go by the progress thread");
  }
  for (std::size_t k = 0; k < planned->size(); ++k) (*(*planned)[k].*told)(k < n_in_stream);
  planned->clear();
}

void BatchQueue::enqueue_waits(std::span<const MessagePtr> messages, std::vector<MessagePtr> *polled,
                               unsigned *n_commands) {
  polled->reserve(messages.size());
  receives_.clear();
  planned_.clear();
  receives_.reserve(messages.size());
  planned_.reserve(messages.size());
  {
    const auto lock = carriers_->hold();
    for (const MessagePtr &message : messages) {
      sluice_stream_receive_t receive{};
      if (message->is_complete()) continue;
      const Message::Wait wait = carriers_->can_wait() ? message->plan_wait(&receive) : Message::Wait::kForPoll;
      // The status of a message is written by the turn that sees it complete.
      if (wait == Message::Wait::kForPoll || message->has_report()) polled->push_back(message);
      if (wait != Message::Wait::kCommand) continue;
      receives_.push_back(receive);
      planned_.push_back(message);
    }
  }
  if (planned_.empty()) return;
  sluice_stream_enqueued_t enqueued{};
  const Status status = stream_->enqueue_receives(receives_, &enqueued);
  receives_.clear();
  *n_commands += enqueued.n_commands;
  polled->insert(polled->end(), planned_.begin() + enqueued.n_messages, planned_.end());
  tell(&planned_, enqueued.n_messages, status, &Message::wait_enqueued);
}

// The gate is there before the stream is told: a runtime may hold up its caller until the stream has room.
Status BatchQueue::enqueue_gate(std::vector<MessagePtr> messages) {
  {
    const std::scoped_lock lock(mutex_);
    if (all_complete(&messages)) return {};
    gates_.push_back({n_gates_ + 1, std::move(messages)});
  }
  Status status = stream_->enqueue_wait(++n_gates_);
  if (status.is_ok()) return status;
  const std::scoped_lock lock(mutex_);  // later gates do not wait for this one
  std::erase_if(gates_, [&](const Gate &gate) { return gate.number == n_gates_; });
  return status;
}

Status BatchQueue::await(std::span<const MessagePtr> messages) {
  aside_.note_wait();
  unsigned n_commands = 1;
  for (const bool is_unjoined : {stream_->is_unjoined(), stream_->are_receives_unjoined()}) {
    if (is_unjoined) n_commands += device::Stream::kCommandsOfJoin;
  }
  // Before the stream waits for anybody else: what comes behind may change what is being sent, and need not know how;
  // and before it takes anything else out of the same channels.
  if (Status status = stream_->join_all(); !status.is_ok()) return status;
  std::vector<MessagePtr> polled;
  enqueue_waits(messages, &polled, &n_commands);
  if (!commands_.empty()) commands_.back().count += n_commands;
  if (Status status = enqueue_gate(std::move(polled)); !status.is_ok()) return status;
  return enqueue_backs(messages);
}

// The trigger is as of an empty batch: it says that the pinned memory is free.
Status BatchQueue::enqueue_backs(std::span<const MessagePtr> messages) {
  release_backs();
  Backs backs;
  copies_.clear();
  for (const MessagePtr &message : messages) {
    sluice_copy_t copy{};
    if (!message->plan_back(&copy)) continue;
    copies_.push_back(copy);
    backs.messages.push_back(message);
  }
  if (backs.messages.empty()) return {};
  backs.number = n_started_ + 1;
  commands_.push_back({backs.number, 1});
  backs_.push_back(std::move(backs));
  const auto refused = [&] {
    for (const MessagePtr &message : backs_.back().messages) message->back_refused();
  };
  Status status;
  try {
    status = stream_->enqueue_copies(copies_, n_started_, false, &commands_.back().count);
  } catch (...) {
    refused();
    throw;
  }
  if (!status.is_ok()) {
    refused();
    return status;
  }
  status = stream_->enqueue_trigger(n_started_ + 1);
  if (status.is_ok()) ++n_started_;
  return status;
}

void BatchQueue::release_backs() {
  while (!backs_.empty() && backs_.front().number <= stream_->triggered()) backs_.pop_front();
}

// Where the stream refuses to say that it is past the copies, nobody else gets the memory.
bool BatchQueue::release_last_backs() {
  if (!backs_.empty() && backs_.back().number > n_started_) {
    if (stream_->enqueue_trigger(n_started_ + 1).is_ok()) {
      ++n_started_;
    } else {
      static auto *lost = new std::vector<std::deque<Backs>>();
      static std::mutex losing;
      const std::scoped_lock lock(losing);
      lost->push_back(std::move(backs_));
      backs_.clear();
    }
  }
  release_backs();
  return backs_.empty();
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
  if (Status status = await(unawaited_); !status.is_ok()) return status;
  unawaited_.clear();
  n_awaited_ = n_started_;
  return {};
}

Status BatchQueue::wait_for(std::span<const MessagePtr> messages) {
  const std::scoped_lock one_at_a_time(calls_);
  if (is_freed_) return was_freed();
  if (is_captured()) return stream_->capture_join();
  if (Status status = await(messages); !status.is_ok()) return status;
  std::erase_if(unawaited_,
                [&](const MessagePtr &message) { return std::ranges::find(messages, message) != messages.end(); });
  return {};
}

bool BatchQueue::is_freed() {
  const std::scoped_lock lock(calls_);
  return is_freed_;
}

bool BatchQueue::is_idle() {
  const std::scoped_lock one_at_a_time(calls_);
  if (!release_last_backs()) return false;
  const std::scoped_lock lock(mutex_);
  forget_complete(&incomplete_);
  const bool has_come = stream_->triggered() >= n_started_;  // behind all copies
  return std::ranges::none_of(incomplete_, [&](const MessagePtr &message) {
    return !(message->is_done_by_stream() || (has_come && message->has_copy()));
  });
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
    const bool has_come = stream_->triggered() >= n_started_;  // behind all copies
    return std::ranges::none_of(incomplete_, [&](const MessagePtr &message) {
      return message->is_done_by_stream() || (has_come && message->has_copy());
    });
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
  while (!running_.empty() && running_.front().is_begun && running_.front().messages.empty()) running_.pop_front();
  const std::scoped_lock lock(mutex_);
  while (!gates_.empty() && all_complete(&gates_.front().messages)) {
    stream_->complete(gates_.front().number);
    gates_.pop_front();
  }
  // Here rather than at the next start, which the program waits for.
  if (n_complete != 0) forget_complete(&incomplete_);
  const bool has_messages = !running_.empty() || !started_.empty() || !captured_.empty() || !started_captured_.empty();
  return may_go(!has_messages && carriers_->is_idle());
}

}  // namespace sluice::ops::queue
