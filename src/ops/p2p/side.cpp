// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/bad_peer.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/p2p/permissions.hpp"
#include "ops/p2p/receive_hints.hpp"
#include "transfer/host_layout.hpp"
#include "transfer/packing.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
Arrival Side::read_arrival(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why) {
  if (!may_meet_descriptor()) return Arrival::kPlain;
  const Arrival arrival = look_at(came_bytes, sender, descriptor, why);
  // The descriptor is read. What it describes may come at any time from now on, and others leave nothing out.
  if (arrival != Arrival::kPlain) head_.set_open(false);
  if (is_staged() && region().size_bytes() >= plan::kLongReceiveBytes) {
    note_arrival(came_bytes, arrival != Arrival::kPlain);
  }
  return arrival;
}

Arrival Side::look_at(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why) const {
  if (came_bytes != kDescriptorBytes) return Arrival::kPlain;
  DescriptorMessage message;
  const std::byte *bytes = is_staged() ? staged_.data() : room();
  const bool is_in_place = !is_staged() && !lands_apart();
  if (is_in_place) {
    transfer::gather(region(), message.bytes, sizeof message.bytes);
    bytes = message.bytes;
  }
  const char *flaw = nullptr;
  const Arrival arrival = read_descriptor(bytes, sender, descriptor, &flaw);
  if (arrival == Arrival::kPlain) return arrival;
  if (is_in_place) transfer::scatter(region(), landing_.bytes, sizeof landing_.bytes);
  if (arrival == Arrival::kFlawed) {
    *why = bad_peer(
        fmt::format("a message from {} tells of device memory, and {}; nothing was received",
                    sender < 0 ? "outside of MPI_COMM_WORLD" : fmt::format("rank {} of MPI_COMM_WORLD", sender), flaw));
  }
  return arrival;
}

// A short message says nothing of the long ones. In an image its end is somewhere, and blocks of a payload with gaps
// come there too.
void Side::note_arrival(std::uint64_t came_bytes, bool is_described) noexcept {
  if (is_described || came_bytes >= plan::kLongReceiveBytes) {
    ReceiveHints::process().note(source(), !is_described);
  }
  if (plan().form == plan::Form::kImage || (is_described && !region().layout->is_contiguous)) return;
  staged_.note_written(std::min(came_bytes, region().size_bytes()));
}

// What a descriptor describes may be shorter than the descriptor, and the bytes behind it are to stay as they are.
void Side::keep_head() {
  if (!may_meet_descriptor() || is_staged() || lands_apart()) return;
  if (!stays_ && (Permissions::must_be_safe() || !takes_descriptor())) claim_head();
  head_.set_open(true);
  if (room_ == nullptr) transfer::gather(region(), landing_.bytes, sizeof landing_.bytes);
}

// MPICH 4.0 receives whole elements into a type with gaps, and says that no more has come: of a descriptor, whose end
// lies within an element of a structure, too.
bool Side::takes_descriptor() const noexcept {
  return region().layout->is_contiguous || region().layout->packing->is_whole_at(kDescriptorBytes);
}

// More than an int counts cannot be received in any call's form as bytes: such a receive takes its chance.
void Side::claim_head() {
  if (takes_descriptor()) head_ = DescriptorLandings::process().claim(region());
  if (!head_.is_empty() || region().size_bytes() > std::uint64_t{std::numeric_limits<int>::max()}) return;
  room_ = std::make_unique_for_overwrite<std::byte[]>(region().size_bytes());
}

void Side::stay(bool is_safe) {
  stays_ = true;
  if ((is_safe || (may_meet_descriptor() && !takes_descriptor())) && may_meet_descriptor() && !is_staged() &&
      !lands_apart()) {
    claim_head();
  }
  // Room of ours stands for the buffer from here on, also for what is sent from it.
  if (!is_safe && room_ != nullptr) transfer::gather(region(), room_.get(), region().size_bytes());
}

bool Side::is_safe() {
  if (!may_meet_descriptor() || is_staged() || lands_apart() || stays_ || !head_.is_empty()) return true;
  head_ = DescriptorLandings::process().claim(region());
  return !head_.is_empty();
}

void Side::leave_room(std::uint64_t came_bytes) const noexcept {
  if (room_ != nullptr) DescriptorLandings::process().scatter_around(region(), room_.get(), came_bytes);
}

void Side::leave_room_described(std::uint64_t came_bytes) const noexcept {
  leave_room(lands_around_head() ? std::min<std::uint64_t>(came_bytes, kDescriptorBytes) : came_bytes);
}

Landing Side::landing() const {
  if (lands_around_head()) return {region(), nullptr, nullptr, staging_memory(), room_.get()};
  if (room_ != nullptr) {
    transfer::Region room{room_.get(), static_cast<std::int64_t>(region().size_bytes()), nullptr, {}};
    [[maybe_unused]] const bool is_named = named_layout(MPI_BYTE, &room.layout);
    return {std::move(room), nullptr, nullptr, staging_memory()};
  }
  return {region(), is_staged() ? staged_.data() : nullptr, is_staged() ? &staged_ : nullptr, staging_memory()};
}

Status Side::open(bool has_large_count) {
  if (plan().form == plan::Form::kImage) return staged_.open_image(region(), staging_memory());
  if (!has_large_count && plan().form == plan::Form::kPacked &&
      region().size_bytes() > std::uint64_t{std::numeric_limits<int>::max()}) {
    return Status::error(ErrorKind::kUnsupported,
                         "more than 2 GiB of a type with gaps cannot be staged through an int count; use the "
                         "large-count form (MPI_Send_c, ...) or send it in parts");
  }
  return staged_.open(region(), staging_memory(), is_short() ? kDescriptorBytes : 0, plan().room);
}

Status Side::copy_down() const {
  trace::Span span;
  span.begin();
  Status copied = staged_.copy_down();
  if (copied.is_ok()) span.end(trace::Lane::kD2h, message_, {region().size_bytes()});
  return copied;
}

Status Side::copy_up(Operation operation, std::uint64_t came_bytes, MPI_Status *status) const {
  if (!is_staged() && !lands_apart()) return {};
  const std::uint64_t bytes = std::min(came_bytes, region().size_bytes());
  Status copied;
  if (is_staged()) {
    copied = copy_up_bytes(operation, *status, bytes);
  } else {
    if (is_short()) transfer::scatter(region(), landing_.bytes, bytes);
    leave_room(bytes);
  }
  if (came_bytes == bytes) return copied;
  wire::set_received_bytes(status, bytes);
  return copied.is_ok() ? truncated(came_bytes, region().size_bytes()) : copied;
}

Status Side::copy_up_whole(Operation operation, const MPI_Status &status) const {
  int is_cancelled = 0;
  if (!is_staged() || (wire::host().MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled != 0)) {
    return {};
  }
  return copy_up_bytes(operation, status, region().size_bytes());
}

Status Side::copy_up_bytes(Operation operation, const MPI_Status &status, std::uint64_t size_bytes) const {
  trace::Span span;
  span.begin();
  Status copied = staged_.copy_up(size_bytes);
  if (copied.is_ok()) span.end(trace::Lane::kH2d, {operation, status.MPI_SOURCE, status.MPI_TAG}, {size_bytes});
  return copied;
}

void Side::end_received(Operation operation, const MPI_Status &status) noexcept {
  if (!wire_.is_begun()) return;
  int is_cancelled = 0;
  if (wire::host().MPI_Test_cancelled(&status, &is_cancelled) != MPI_SUCCESS || is_cancelled != 0) {
    return wire_.abandon();
  }
  wire_.end(trace::Lane::kWire, {operation, status.MPI_SOURCE, status.MPI_TAG}, {wire::received_bytes(status)});
}

}  // namespace sluice::ops
