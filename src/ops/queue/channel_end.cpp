// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/channel_end.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/bad_peer.hpp"
#include "base/log.hpp"
#include "device/ipc_exports.hpp"

namespace sluice::ops::queue {
namespace {

constexpr unsigned kMostTries = 64;
static_assert(plan::kMostStreamBytes >> SLUICE_LENGTH_BITS == 0);
static_assert(ChannelWords::mark(1, plan::UnitRing::kMostUnits - 1, plan::kMostStreamBytes) < ChannelWords::mark(2));

}  // namespace

Status ChannelEnd::number_next(const void *native, std::uint64_t *number) {
  if (n_incomplete != 0 && user != native) {
    return Status::error(
        ErrorKind::kUnsupported,
        fmt::format("another stream has {} of the same peer that are not complete: with SLUICE_QUEUE_ENGINE=device one "
                    "stream on each side carries them; complete them first, use another tag, communicator or window, "
                    "or set SLUICE_QUEUE_ENGINE=thread",
                    key.is_of_signals() ? "signals of this window"
                                        : fmt::format("messages with tag {} of this communicator", key.tag)));
  }
  if (last == kMostNumbered) {
    return Status::error(
        ErrorKind::kUnsupported,
        "2^31 messages were sent with one tag on one communicator by SLUICE_QUEUE_ENGINE=device, which "
        "numbers no more; use another tag or communicator");
  }
  user = native;
  ++n_incomplete;
  *number = ++last;
  return {};
}

Status SenderEnd::take_offer(const SlotOffer &told, const wire::SegmentName &words_name) {
  const plan::UnitSizes &sizes = told.sizes;
  const plan::SlotClaim claim{told.first, sizes, told.is_in_host != 0, told.offset_bytes, told.allocation_bytes};
  if (words.is_open() || !plan::is_sound(claim, kMostNumbered)) {
    return bad_peer("a peer's slots for messages of queues make no sense");
  }
  const std::uint64_t n_bytes_behind = told.is_in_host != 0 ? told.allocation_bytes : 0;
  if (Status status = words.open(words_name, ChannelWords::kCount, n_bytes_behind); !status.is_ok()) return status;
  offer_ = told;
  ring_ = plan::UnitRing(sizes.n_units);
  return {};
}

void SenderEnd::map_for(const device::Stream &stream) {
  if (!words.is_open() || !stream.has_channels()) return;
  // Slots that were mapped for another stream's device stay so.
  if (const Status status = map(stream); !status.is_ok()) {
    log::debug("ops", "a stream's messages go by the progress thread for now: " + status.message());
  }
}

Status SenderEnd::map(const device::Stream &stream) {
  if (slots_begin_ != nullptr) return {};
  const device::Backend *backend = &stream.backend();
  const std::int32_t device = stream.device();
  if (!words.is_reached()) {
    if (Status status = words.reach(backend, device); !status.is_ok()) return status;
  }
  std::byte *begin = words.behind();
  if (offer_.is_in_host == 0) {
    const device::ExportOrigin origin{static_cast<std::uint64_t>(key.peer), offer_.base_address,
                                      offer_.allocation_bytes};
    Status status = device::IpcImports::process().open(backend, device, offer_.handle, origin, &slots_);
    if (!status.is_ok()) return status;
    begin = slots_->base() + offer_.offset_bytes;
  }
  slots_begin_ = begin;
  backend_ = backend;
  device_ = device;
  return {};
}

plan::StreamChoice SenderEnd::choose(const device::Stream &stream, const plan::StreamMessage &message) {
  plan::StreamChannel channel;
  channel.is_mapped = is_mapped_for(stream);
  if (channel.is_mapped) {
    channel.first = offer_.first;
    channel.sizes = offer_.sizes;
    channel.n_words = ChannelWords::kRing;
    channel.seen = known_seen_;
  }
  plan::StreamChoice choice = plan::choose_stream(message, channel, ring_);
  if (!choice.is_by_stream && channel.is_mapped) {
    ring_.take_back(words.get(ChannelWords::kTaken));
    channel.seen = known_seen_ = words.get(ChannelWords::kSeen);
    choice = plan::choose_stream(message, channel, ring_);
  }
  if (choice.n_units != 0) ring_.give(message.number, choice.first_unit, choice.n_units);
  return choice;
}

sluice_stream_send_t SenderEnd::command(const plan::StreamMessage &message, const plan::StreamChoice &choice,
                                        const void *data) const {
  std::byte *slot = slots_begin_ + choice.first_unit * offer_.sizes.unit_bytes;
  return {slot, data, message.size_bytes, words.at(ChannelWords::filled(message.number)),
          ChannelWords::mark(message.number, choice.first_unit, message.size_bytes)};
}

void ReceiverEnd::remove_name() noexcept {
  if (words_name[0] != '\0') wire::SharedSegment::remove_name(words_name);
  words_name = {};
}

void ReceiverEnd::make_slots(const device::Stream &stream, std::uint64_t number, const plan::UnitSizes &sizes) {
  if (has_slots() || !stream.has_channels() || n_tries_ == kMostTries) return;
  ++n_tries_;
  if (const Status status = try_make_slots(stream, sizes); !status.is_ok()) {
    log::debug("ops", "a stream's messages come by the progress thread for now: " + status.message());
    return;
  }
  words.set(ChannelWords::kTaken, number - 1);
  words.set(ChannelWords::kSeen, number - 1);
  offer.first = number;
}

Status ReceiverEnd::try_make_slots(const device::Stream &stream, const plan::UnitSizes &sizes) {
  place_ = {MemoryKind::kDevice, &stream.backend(), stream.device(), 0};
  offer.sizes = sizes;
  const std::uint64_t size_bytes = offer.sizes.n_units * offer.sizes.unit_bytes;
  plan::SlotChoice choice = choose_slots();
  if (choice.memory == plan::SlotMemory::kDevice) {
    Status status = make_device_slots(size_bytes);
    if (!is_export_refused_) return status;
    choice = choose_slots();
  }
  if (Status status = make_host_slots(size_bytes); !status.is_ok()) return status;
  log::debug("ops",
             fmt::format("the slots for messages of queues from rank {} with tag {} lie in the host's memory: {}",
                         key.peer, key.tag, choice.reason));
  return {};
}

plan::SlotChoice ReceiverEnd::choose_slots() const noexcept {
  const sluice_backend_t &table = place_.backend->table();
  const std::uint32_t traits = table.device_traits != nullptr ? table.device_traits(place_.device) : 0;
  return plan::choose_slots({table.ipc_export != nullptr, (traits & SLUICE_DEVICE_NO_EXPORT) != 0, is_export_refused_});
}

// Nobody else knows of them yet, so what an earlier try has left may be too short.
Status ReceiverEnd::make_words(std::uint64_t n_bytes_behind) {
  if (words.is_open() && words.n_bytes_behind() != n_bytes_behind) {
    remove_name();
    words.close();
  }
  if (!words.is_open()) {
    if (Status status = words.create(ChannelWords::kCount, n_bytes_behind, &words_name); !status.is_ok()) return status;
  }
  return words.is_reached() ? Status() : words.reach(place_.backend, place_.device);
}

Status ReceiverEnd::make_device_slots(std::uint64_t size_bytes) {
  if (Status status = make_words(0); !status.is_ok()) return status;
  if (slots_.data() == nullptr) {
    if (Status status = slots_.acquire(place_, size_bytes); !status.is_ok()) return status;
  }
  device::Place placed;
  if (Status status = device::classify(slots_.data(), &placed); !status.is_ok()) return status;
  device::Exported exported;
  Status status = device::IpcExports::process().find(placed, slots_.data(), size_bytes, &exported);
  is_export_refused_ = !status.is_ok();
  if (is_export_refused_) slots_.reset();
  if (!status.is_ok()) return status;
  offer.offset_bytes = exported.offset_bytes;
  offer.allocation_bytes = exported.allocation_bytes;
  offer.base_address = reinterpret_cast<std::uintptr_t>(slots_.data()) - exported.offset_bytes;
  offer.handle = exported.handle;
  return {};
}

Status ReceiverEnd::make_host_slots(std::uint64_t size_bytes) {
  if (Status status = make_words(size_bytes); !status.is_ok()) return status;
  offer.is_in_host = 1;
  offer.allocation_bytes = size_bytes;
  return {};
}

sluice_stream_receive_t ReceiverEnd::command(std::uint64_t number, void *data, std::uint64_t size_bytes) const {
  const plan::UnitSizes &sizes = offer.sizes;
  return {data,
          {slots_begin(), sizes.n_units * sizes.unit_bytes, sizes.unit_bytes},
          std::min(size_bytes, sizes.most_bytes()),
          words.at(ChannelWords::filled(number)),
          ChannelWords::mark(number),
          words.at(ChannelWords::kTaken),
          number};
}

}  // namespace sluice::ops::queue
