// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/knobs.hpp"
#include "device/copy.hpp"
#include "ops/env/errors.hpp"
#include "ops/queue/channel_messages.hpp"
#include "ops/queue/channels.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {
namespace {

constexpr std::uint64_t kSlots = SLUICE_CAPTURED_SLOTS;
constexpr std::uint64_t kAligned = 256;

class CapturedMessage final : public PointMessage {
 public:
  // `key` null: to nobody.
  CapturedMessage(const Arguments &given, const transfer::Region &region, const device::Stream &stream,
                  const ChannelKey *key) noexcept
      : PointMessage(given, region),
        stream_(stream),
        is_to_nobody_(key == nullptr),
        key_(key != nullptr ? *key : ChannelKey()) {}

  [[nodiscard]] Status prepare() override;
  [[nodiscard]] bool is_captured() const noexcept override { return true; }
  [[nodiscard]] bool plan_captured(sluice_captured_t *captured) override;
  void carry(const sluice_copy_t &copy) noexcept override { carried_ = copy; }

 private:
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override;
  [[nodiscard]] Route route_taken() const noexcept override { return Route::kQueueDevice; }
  [[nodiscard]] std::string describe() const override { return "captured, " + PointMessage::describe(); }
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status & /*status*/) const override { return 0; }

  using Clock = std::chrono::steady_clock;

  [[nodiscard]] ChannelEnd &end() const noexcept {
    return given_.is_send ? static_cast<ChannelEnd &>(*sender_) : static_cast<ChannelEnd &>(*receiver_);
  }
  [[nodiscard]] Status open_end();
  // With the lock of Channels. Whether the other side is known, and what this side's kernel is to find is there;
  // errors: it never will be.
  [[nodiscard]] bool meet(Status *status);
  [[nodiscard]] Status map_slots(bool *is_mapped);
  [[nodiscard]] Status write_end();

  const device::Stream &stream_;  // while the message is incomplete
  const bool is_to_nobody_;
  ChannelKey key_;
  SenderEndPtr sender_;      // of a send
  ReceiverEndPtr receiver_;  // of a receive
  sluice_copy_t carried_{};  // by a signal
  bool is_open_ = false;
  Clock::time_point first_try_;  // to map the slots
  Clock::time_point last_try_;
};

// Makes this side of the channel, and tells the other.
Status CapturedMessage::open_end() {
  Channels &channels = Channels::process();
  const std::uint64_t slot_bytes =
      (std::max<std::uint64_t>(flat_.size_bytes(), 1) + kAligned - 1) / kAligned * kAligned;
  if (given_.is_send) {
    if (sender_ == nullptr) {
      if (Status status = channels.find_sender(key_, &sender_, flat_.size_bytes()); !status.is_ok()) return status;
    }
    return {};
  }
  if (receiver_ == nullptr) receiver_ = channels.find_receiver(key_);
  if (receiver_->has_slots()) return {};
  receiver_->own_bytes = flat_.size_bytes();
  receiver_->make_slots(stream_, 1, {slot_bytes, kSlots});
  if (!receiver_->has_slots()) {
    return cannot_be_captured("memory for its messages cannot be made now; set SLUICE_LOG=debug to see why");
  }
  channels.offer(receiver_.get());
  return {};
}

Status CapturedMessage::prepare() {
  if (is_open_ || is_to_nobody_) return {};
  if (key_.captured == 0) key_.captured = Channels::process().number_captured(key_, given_.is_send);
  if (Status status = open_end(); !status.is_ok()) return status;
  device::DeviceMemory &memory = end().captured;
  if (memory.data() == nullptr) {
    if (Status status = memory.acquire(stream_.place(), sizeof(sluice_captured_end_t)); !status.is_ok()) return status;
    const sluice_captured_end_t nothing{};
    if (Status status = device::copy(stream_.place(), memory.data(), &nothing, sizeof nothing); !status.is_ok()) {
      return status;
    }
  }
  ++end().n_incomplete;  // until it knows the other side
  is_open_ = true;
  return {};
}

bool CapturedMessage::plan_captured(sluice_captured_t *captured) {
  if (is_to_nobody_) return false;
  *captured = {reinterpret_cast<sluice_captured_end_t *>(end().captured.data()), flat_.origin(), flat_.size_bytes(),
               given_.is_send ? 1 : 0};
  if (carried_.size_bytes != 0) {
    captured->data = const_cast<void *>(carried_.src);  // NOLINT(cppcoreguidelines-pro-type-const-cast): a send reads
    captured->size_bytes = carried_.size_bytes;
  }
  return true;
}

// What cannot be mapped now may be later: a runtime refuses while a stream of the program's waits (docs/adr/0032).
Status CapturedMessage::map_slots(bool *is_mapped) {
  constexpr std::chrono::milliseconds kBetweenTries{1};
  const std::chrono::nanoseconds most = Knobs::process().duration("queue_patience");
  const Clock::time_point now = Clock::now();
  *is_mapped = false;
  if (now - last_try_ < kBetweenTries) return {};
  if (first_try_ == Clock::time_point()) first_try_ = now;
  last_try_ = now;
  Status status = sender_->map(stream_);
  *is_mapped = status.is_ok();
  return now - first_try_ > most ? status : Status();
}

bool CapturedMessage::meet(Status *status) {
  const ChannelEnd &own = end();
  if (given_.is_send ? !sender_->is_offered() : receiver_->sender_id == 0) return false;
  const std::uint64_t sent_bytes = given_.is_send ? own.own_bytes : own.peer_bytes;
  // What the other side says of its memory is believed as far as it fits together.
  const std::uint64_t told_bytes = given_.is_send && sender_->n_slots() < kSlots ? 0 : own.peer_bytes;
  const std::uint64_t room_bytes = given_.is_send ? std::min(told_bytes, sender_->slot_bytes()) : own.own_bytes;
  if (sent_bytes > room_bytes) {
    *status = Status::error(ErrorKind::kTruncated,
                            fmt::format("a captured message of {} bytes is received into a buffer of {} bytes; make "
                                        "the buffer as long as the message, and do not launch the graph",
                                        sent_bytes, room_bytes));
    return true;
  }
  bool is_mapped = true;
  if (given_.is_send) *status = map_slots(&is_mapped);
  if (!status->is_ok()) return true;
  if (!is_mapped) return false;
  *status = write_end();
  return true;
}

// What the kernel of this side reads at each launch. Blocks for the copy.
Status CapturedMessage::write_end() {
  const ChannelEnd &own = end();
  sluice_captured_end_t told{};
  told.slots = given_.is_send ? sender_->slots_begin() : receiver_->slots_begin();
  told.slot_bytes = given_.is_send ? sender_->slot_bytes() : receiver_->offer.sizes.unit_bytes;
  told.size_bytes = given_.is_send ? own.own_bytes : own.peer_bytes;
  told.filled = own.words.at(ChannelWords::kFilled);
  told.taken = own.words.at(ChannelWords::kTaken);
  if (carried_.size_bytes != 0) {  // each launch's goes to the one place
    told.slots = carried_.dst;
    told.slot_bytes = 0;
    told.size_bytes = carried_.size_bytes;
  }
  told.is_ready = 1;
  return device::copy(stream_.place(), own.captured.data(), &told, offsetof(sluice_captured_end_t, n_launches));
}

bool CapturedMessage::test_transfer(int *code, MPI_Status *status) {
  Status met;
  if (!is_to_nobody_) {
    const auto lock = Channels::process().hold();
    if (!meet(&met)) return false;
    end().complete_one();
  }
  if (!met.is_ok()) *code = error_code(met);
  status->MPI_SOURCE = given_.peer;
  status->MPI_TAG = is_to_nobody_ ? MPI_ANY_TAG : given_.tag;
  wire::set_received_bytes(status, 0);
  return true;
}

}  // namespace

// Each launch is by the same kernel with the same arguments, so nobody could pack, stage or convert in between.
Status make_captured_message(const Arguments &given, const transfer::Region &region, const device::Stream &stream,
                             const ChannelKey *key, MessagePtr *message) {
  if (key == nullptr && given.peer != MPI_PROC_NULL) {
    return cannot_be_captured(
        "a graph's messages go between ranks of one node, on an intracommunicator, and to no rank itself: enqueue this "
        "one before or after the capture");
  }
  if (key != nullptr && !FlatBuffer(region).is_run_of(stream)) {
    return cannot_be_captured(
        "a graph's messages are one run of memory of the stream's device: give such a buffer, or enqueue the message "
        "before or after the capture");
  }
  *message = std::make_shared<CapturedMessage>(given, region, stream, key);
  return {};
}

}  // namespace sluice::ops::queue
