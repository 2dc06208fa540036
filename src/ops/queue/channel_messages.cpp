// SPDX-License-Identifier: BSD-3-Clause
// The engine `device` (docs/adr/0033): inside a node the sender's stream copies a message into a slot in the receiver's
// device memory (or the host's, where that cannot be exported), and the receiver's stream takes it out; no CPU is on
// the path. What cannot go so goes by the progress threads, over a communicator of Sluice's, in its place of the same
// sequence of numbers. The sender alone decides.
//
// The receiver's stream waits for a message where the program has it wait (MPIX_Enqueue_wait), and nowhere else; a
// message that no wait was enqueued for is taken out of its slot by the progress thread.
#include "ops/queue/channel_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "base/bad_peer.hpp"
#include "base/knobs.hpp"
#include "device/copy.hpp"
#include "generated/operations.hpp"
#include "ops/datatype/held_type.hpp"
#include "ops/env/errors.hpp"
#include "ops/queue/channels.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {
namespace {

// What both directions have in common. Held by one queue's stream, `stream`.
class ChannelMessage : public PointMessage {
 public:
  ChannelMessage(const Arguments &given, const transfer::Region &region, const device::Stream *stream,
                 const ChannelKey &key) noexcept
      : PointMessage(given, region), stream_(*stream), key_(key) {}
  [[nodiscard]] Status hold() { return type_.hold(&given_.type); }

 protected:
  const device::Stream &stream_;  // while something is enqueued
  const ChannelKey key_;
  std::uint64_t number_ = 0;  // 0: none yet
  bool is_by_stream_ = false;

 private:
  [[nodiscard]] Route route_taken() const noexcept override {
    return is_by_stream_ ? Route::kQueueDevice : Route::kThread;
  }

  HeldType type_;
};

class ChannelSend final : public ChannelMessage {
 public:
  ChannelSend(const Arguments &given, const transfer::Region &region, const device::Stream *stream,
              const ChannelKey &key, std::vector<MessagePtr> behind)
      : ChannelMessage(given, region, stream, key), behind_(std::move(behind)) {}

  [[nodiscard]] Status prepare() override;
  [[nodiscard]] std::uint64_t batches_with_room() const noexcept override {
    return flat_.is_run_of(stream_) ? end_->batches_with_room(stream_, flat_.size_bytes()) : plan::kNoLimit;
  }
  [[nodiscard]] bool plan_start(sluice_stream_send_t *send) override;
  void start_enqueued(bool is_in_stream) override { is_by_stream_ = is_in_stream; }
  // What comes behind the wait comes behind the stream's own copy, in the stream or aside: the wait joins that.
  [[nodiscard]] Wait plan_wait(sluice_stream_receive_t * /*receive*/) override {
    return is_by_stream_ ? Wait::kNotAtAll : Wait::kForPoll;
  }
  [[nodiscard]] bool is_done_by_stream() const noexcept override { return is_by_stream_ && end_->is_gone(number_); }

 private:
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override;
  [[nodiscard]] int send_by_thread();

  std::vector<MessagePtr> behind_;  // what is to be complete before, and was not known to be
  SenderEndPtr end_;
  bool is_sent_ = false;  // by the thread
  MPI_Request request_ = MPI_REQUEST_NULL;
};

Status ChannelSend::prepare() {
  if (number_ != 0) return {};
  Channels &channels = Channels::process();
  if (Status status = channels.find_sender(key_, &end_); !status.is_ok()) return status;
  if (!end_->is_mapped_for(stream_)) {
    channels.take_in_held();  // an offer may have come
    end_->map_for(stream_);
  }
  return end_->number_next(stream_.native(), &number_);
}

bool ChannelSend::plan_start(sluice_stream_send_t *send) {
  if (is_by_stream_ || !all_complete(&behind_)) return false;
  const plan::StreamMessage message = {number_, flat_.size_bytes(), flat_.is_run_of(stream_)};
  const plan::StreamChoice choice = end_->choose(stream_, message);
  if (choice.is_by_stream) *send = end_->command(message, choice, flat_.origin());
  return choice.is_by_stream;
}

int ChannelSend::send_by_thread() {
  Channels &channels = Channels::process();
  Status status;
  {
    const auto lock = channels.hold();
    status = channels.announce(*end_, number_);
    if (!status.is_ok()) end_->complete_one();
  }
  if (!status.is_ok()) return error_code(status);
  const int code =
      isend(given_.buffer, given_.count, given_.type, key_.peer, Channels::data_tag(*end_), channels.comm(), &request_);
  if (code != MPI_SUCCESS) {
    const auto lock = channels.hold();
    end_->complete_one();
  }
  return code;
}

bool ChannelSend::test_transfer(int *code, MPI_Status *status) {
  int is_done = 0;
  if (is_by_stream_) {
    is_done = end_->is_gone(number_) ? 1 : 0;
  } else {
    if (!is_sent_ && !all_complete(&behind_)) return false;
    if (!is_sent_) *code = send_by_thread();
    is_sent_ = true;
    if (*code != MPI_SUCCESS) return true;  // nothing of it is under way
    *code = test(&request_, &is_done, status);
    wire::clear(status);
  }
  if (*code == MPI_SUCCESS && is_done == 0) return false;
  const auto lock = Channels::process().hold();
  end_->complete_one();
  return true;
}

// Who takes a message out of its slot, or would.
enum class Taker : std::uint8_t { kNobodyYet, kStream, kThread };

class ChannelReceive final : public ChannelMessage {
 public:
  using ChannelMessage::ChannelMessage;

  [[nodiscard]] Status prepare() override;
  [[nodiscard]] bool plan_aside(sluice_stream_receive_t *receive) override;
  [[nodiscard]] Wait plan_wait(sluice_stream_receive_t *receive) override;
  void wait_enqueued(bool is_in_stream) override;
  [[nodiscard]] bool is_done_by_stream() const noexcept override {
    return taker_.load(std::memory_order_acquire) == Taker::kStream && end_->words.get(ChannelWords::kTaken) >= number_;
  }

 private:
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override;
  void ask() noexcept override { is_asked_.store(true, std::memory_order_relaxed); }

  using Clock = std::chrono::steady_clock;
  // So long a message may lie in its slot before the progress thread takes it: then the program has the stream not wait
  // for it, or not soon, and may never ask.
  static constexpr std::chrono::milliseconds kGrace{1};

  // All with the lock of Channels.
  [[nodiscard]] bool may_be_the_streams() const noexcept;
  void give_to_stream(sluice_stream_receive_t *receive);
  // The stream waits for it, or need not.
  void note_joined() noexcept {
    if (end_->aside == number_) end_->aside = 0;
  }
  void receive_by_thread();
  [[nodiscard]] bool is_thread_to_take();
  [[nodiscard]] Status take_out(std::uint64_t word, std::uint64_t size_bytes);
  void finish(int *code, MPI_Status *status);

  ReceiverEndPtr end_;
  bool is_flat_open_ = false;
  bool is_looked_for_ = false;  // in a slot: its word says when it is there
  std::atomic<Taker> taker_{Taker::kNobodyYet};
  std::atomic<bool> is_asked_{false};
  // Of the turn.
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool is_posted_ = false;    // it comes by the threads
  bool is_received_ = false;  // and has come
  int received_code_ = MPI_SUCCESS;
  std::uint64_t word_ = 0;        // that told of it, where it came by a stream
  std::uint64_t size_bytes_ = 0;  // of what came
  Clock::time_point waits_since_;
  bool is_waiting_ = false;
};

Status ChannelReceive::prepare() {
  if (number_ != 0) return {};
  Channels &channels = Channels::process();
  // What a stream cannot write to is brought there by way of host memory.
  if (!flat_.is_run_of_device() && !is_flat_open_) {
    if (Status status = flat_.open(); !status.is_ok()) return status;
    is_flat_open_ = true;
  }
  if (end_ == nullptr) end_ = channels.find_receiver(key_);
  if (end_->sender_id == 0) channels.take_in_held();  // the sender may have begun
  if (Status status = end_->number_next(stream_.native(), &number_); !status.is_ok()) return status;
  if (!end_->has_slots()) {
    constexpr std::uint64_t kOneUnit = 256;  // of signals, which have no bytes
    const std::uint64_t channel_bytes = key_.is_of_signals() ? kOneUnit : Knobs::process().bytes("queue_channel_bytes");
    end_->make_slots(stream_, number_, plan::divide(channel_bytes));
    if (end_->has_slots()) channels.offer(end_.get());
  }
  is_looked_for_ = end_->is_looked_for(number_);
  return {};
}

// In the order of the numbers: behind one that the thread takes the stream takes nothing; nor does it before one that
// it waits for the thread to take, for it would come to that too late (two queues of one stream).
bool ChannelReceive::may_be_the_streams() const noexcept {
  return is_looked_for_ && flat_.is_run_of(stream_) && end_->is_on_device_of(stream_) && end_->settled + 1 == number_ &&
         number_ > end_->awaited_of_thread;
}

void ChannelReceive::give_to_stream(sluice_stream_receive_t *receive) {
  taker_.store(Taker::kStream, std::memory_order_release);
  end_->settled = number_;
  *receive = end_->command(number_, flat_.origin(), flat_.size_bytes());
}

// One of a channel at a time, because `taken` counts up, and what is aside has no order with what is not.
bool ChannelReceive::plan_aside(sluice_stream_receive_t *receive) {
  const bool is_free = taker_.load(std::memory_order_relaxed) == Taker::kNobodyYet;
  if (number_ == 0 || !is_free || end_->aside != 0 || !may_be_the_streams()) return false;
  end_->aside = number_;
  end_->aside_of = &stream_;
  give_to_stream(receive);
  return true;
}

Message::Wait ChannelReceive::plan_wait(sluice_stream_receive_t *receive) {
  const Taker taker = taker_.load(std::memory_order_relaxed);
  note_joined();  // if it is aside, for the stream has joined just now
  if (taker != Taker::kNobodyYet) return taker == Taker::kStream ? Wait::kNotAtAll : Wait::kForPoll;
  const bool is_in_order = end_->aside == 0 || end_->aside_of == &stream_;
  if (!is_in_order || !may_be_the_streams()) {
    end_->awaited_of_thread = std::max(end_->awaited_of_thread, number_);
    return Wait::kForPoll;
  }
  give_to_stream(receive);
  return Wait::kCommand;
}

void ChannelReceive::wait_enqueued(bool is_in_stream) {
  if (is_in_stream) return;
  const auto lock = Channels::process().hold();
  taker_.store(Taker::kThread, std::memory_order_release);
  end_->settled = std::min(end_->settled, number_ - 1);
  note_joined();
}

// Straight into the program's buffer, with the program's type: the host MPI's own rules for lengths and types. Data has
// the order in which it was announced.
void ChannelReceive::receive_by_thread() {
  if (!is_posted_) {
    if (end_->by_thread.empty() || end_->by_thread.front() != number_) return;
    end_->by_thread.pop_front();
    is_posted_ = true;
    received_code_ = irecv(given_.buffer, given_.count, given_.type, key_.peer, Channels::data_tag(*end_),
                           Channels::process().comm(), &request_);
    is_received_ = received_code_ != MPI_SUCCESS;
  }
  if (!is_received_) {
    int is_done = 0;
    MPI_Status told{};
    received_code_ = test(&request_, &is_done, &told);
    is_received_ = received_code_ != MPI_SUCCESS || is_done != 0;
    if (received_code_ == MPI_SUCCESS && is_received_) size_bytes_ = wire::received_bytes(told);
  }
  // The stream, if it waits for it, goes on with a copy of nothing. Not before the word has served the message that had
  // it before.
  if (is_received_ && is_looked_for_ && number_ <= end_->n_seen + ChannelWords::kRing) {
    end_->words.set(ChannelWords::filled(number_), ChannelWords::mark(number_));
  }
}

// Whether the progress thread is to take what has come: nobody else does, or can.
bool ChannelReceive::is_thread_to_take() {
  if (taker_.load(std::memory_order_relaxed) != Taker::kNobodyYet) {
    return taker_.load(std::memory_order_relaxed) == Taker::kThread;
  }
  const bool is_the_streams = is_looked_for_ && flat_.is_run_of(stream_) && !is_posted_;
  if (is_the_streams && !is_asked_.load(std::memory_order_relaxed)) {
    const Clock::time_point now = Clock::now();
    if (!is_waiting_) waits_since_ = now;
    is_waiting_ = true;
    if (now - waits_since_ < kGrace) return false;
  }
  taker_.store(Taker::kThread, std::memory_order_release);
  return true;
}

// Blocks for the copy.
Status ChannelReceive::take_out(std::uint64_t word, std::uint64_t size_bytes) {
  if (size_bytes == 0) return {};
  if (!end_->holds(word, size_bytes)) {
    return bad_peer(
        fmt::format("rank {} of MPI_COMM_WORLD wrote, in the words of a queue's channel, that a message "
                    "of {} bytes lies where there are no slots",
                    end_->key.peer, size_bytes));
  }
  std::byte *to = flat_.is_run_of_device() ? flat_.origin() : flat_.data();
  if (Status status = device::copy(end_->place(), to, end_->slot(word), size_bytes); !status.is_ok()) return status;
  return flat_.copy_up(size_bytes);
}

bool ChannelReceive::test_transfer(int *code, MPI_Status *status) {
  const auto lock = Channels::process().hold();
  receive_by_thread();
  if (is_posted_ && !is_received_) return false;
  if (!is_posted_) {
    const std::uint64_t filled = is_looked_for_ ? end_->words.get(ChannelWords::filled(number_)) : 0;
    if (filled < ChannelWords::mark(number_)) return false;
    size_bytes_ = ChannelWords::length_of(filled);
    word_ = filled;
  }
  const bool is_threads = is_thread_to_take();
  // One by one, and so in their order.
  if (end_->n_seen + 1 != number_) return false;
  if (!is_threads) {
    if (end_->words.get(ChannelWords::kTaken) < number_) return false;
  } else if (is_looked_for_) {
    if (end_->words.get(ChannelWords::kTaken) + 1 < number_) return false;
  }
  finish(code, status);
  return true;
}

void ChannelReceive::finish(int *code, MPI_Status *status) {
  Status taken;
  if (is_posted_) {
    *code = received_code_;
  } else {
    const std::uint64_t most_bytes = flat_.size_bytes();
    const bool is_threads = taker_.load(std::memory_order_relaxed) == Taker::kThread;
    const bool is_there = ChannelWords::number_of(word_) == number_ &&
                          plan::holds(end_->offer.sizes, ChannelWords::unit_of(word_), size_bytes_);
    if (!is_there) {
      taken =
          bad_peer(fmt::format("rank {} of MPI_COMM_WORLD tells of a message of a queue that is not there, and what "
                               "was received of it is not known",
                               key_.peer));
    } else if (is_threads) {
      taken = take_out(word_, std::min(size_bytes_, most_bytes));
    }
    if (taken.is_ok() && size_bytes_ > most_bytes) {
      taken = Status::error(
          ErrorKind::kTruncated,
          fmt::format(
              "a message of {} bytes was received into a buffer of {} bytes; make the buffer as long as the message",
              size_bytes_, most_bytes));
    }
    if (!taken.is_ok()) *code = error_code(taken);
    is_by_stream_ = !is_threads;
  }
  if (is_posted_) is_by_stream_ = false;
  if (is_looked_for_) {
    if (taker_.load(std::memory_order_relaxed) == Taker::kThread) end_->words.set(ChannelWords::kTaken, number_);
    end_->words.set(ChannelWords::kSeen, number_);
  }
  note_joined();
  end_->n_seen = number_;
  end_->settled = std::max(end_->settled, number_);
  end_->complete_one();
  status->MPI_SOURCE = given_.peer;
  status->MPI_TAG = given_.tag;
  wire::set_received_bytes(status, *code == MPI_SUCCESS ? size_bytes_ : 0);
}

}  // namespace

Status make_channel_message(const Arguments &given, const transfer::Region &region, const device::Stream &stream,
                            const ChannelKey &key, const std::vector<MessagePtr> &behind, MessagePtr *message) {
  return given.is_send ? make_holding<ChannelSend>(message, given, region, &stream, key, behind)
                       : make_holding<ChannelReceive>(message, given, region, &stream, key);
}

}  // namespace sluice::ops::queue
