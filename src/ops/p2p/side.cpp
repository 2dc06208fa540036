// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/side.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/comm/comm_state.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "ops/p2p/permissions.hpp"
#include "ops/p2p/pull_hints.hpp"
#include "ops/p2p/receive_hints.hpp"
#include "plan/policy.hpp"
#include "transfer/host_layout.hpp"
#include "transfer/packing.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
void Side::name_buffer(const void *buffer, MPI_Count count, MPI_Datatype type) {
  // Sending does not change the buffer; one pointer serves both directions.
  buffer_ = const_cast<void *>(buffer);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  message_count_ = count;
  message_type_ = type;
}

Status Side::of(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, Side *side) {
  side->name_buffer(buffer, count, type);
  side->source_ = peer;
  return peer == MPI_PROC_NULL ? Status() : side->classify(count, Use::kReceived);
}

Status Side::of_plain(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, Side *side) {
  side->name_buffer(buffer, count, type);
  return peer == MPI_PROC_NULL ? Status() : side->classify(count, Use::kPlain);
}

Status Side::of_outgoing(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, MPI_Comm comm, Side *side,
                         Sending sending) {
  side->name_buffer(buffer, count, type);
  if (peer == MPI_PROC_NULL) return {};
  if (Status status = side->classify(count, Use::kSent); !status.is_ok()) return status;
  if (side->kind_ == MemoryKind::kHost) return {};
  side->find_peer(peer, comm, sending);
  side->choose_route();
  return {};
}

Status Side::of_matched(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message message, Side *side) {
  return of(buffer, count, type, message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE, side);
}

Status Side::classify(MPI_Count count, Use use) {
  const bool is_outgoing = use == Use::kSent;
  const device::Backends backends = device::loaded_backends();
  // A host-only rank may be sent descriptors by ranks that are not.
  const bool may_be_described = use == Use::kReceived && wire::Channel::process().is_open();
  if (count < 0 || (!may_be_described && (count == 0 || backends.empty()))) return {};
  transfer::LayoutPtr layout;
  const bool is_named = named_layout(message_type_, &layout);
  if (!is_named) {
    if (!is_valid(message_type_)) return {};  // the host MPI will say so, in its own words
    if (Status status = layout_of(message_type_, &layout); !status.is_ok()) return status;
  }
  device::Place place;
  if (count > 0) {
    Status status =
        transfer::classify_payload(static_cast<std::byte *>(buffer_), *layout, buffer_ == MPI_BOTTOM, backends, &place);
    if (!status.is_ok()) return status;
  }
  region_ = {static_cast<std::byte *>(buffer_), count, std::move(layout), place};
  kind_ = place.kind;
  may_meet_descriptor_ = may_be_described && !is_wrong_null();
  is_short_ = may_meet_descriptor_ && region_.size_bytes() < kDescriptorBytes;
  if (kind_ == MemoryKind::kHost) return {};  // plan_ says so
  // Only what the host MPI does not touch by the program's type; the host MPI's int counts what is received; and parts
  // of a plain side are elements of the program's type.
  const bool may_name = kind_ == MemoryKind::kDevice && use != Use::kPlain && buffer_ != MPI_BOTTOM &&
                        region_.size_bytes() <= std::uint64_t{std::numeric_limits<int>::max()};
  const bool is_named_as_bytes = may_name && transfer::name_as_bytes(&region_);
  if (is_named_as_bytes) run_offset_bytes_ = region_.origin - static_cast<std::byte *>(buffer_);
  const bool is_contiguous = region_.layout->is_contiguous;
  // Absolute addresses may lead to several allocations, on devices and on the host: no image of those.
  const std::uint64_t span_bytes = is_contiguous || buffer_ == MPI_BOTTOM ? 0 : region_.span_bytes();
  query_ = {place.kind, region_.size_bytes(), is_contiguous, is_named_as_bytes, is_outgoing, span_bytes};
  if (!is_contiguous) query_.n_runs = transfer::most_runs(*region_.layout, count);
  if (!is_outgoing) choose_route();  // of what is sent once the peer is known
  return {};
}

void Side::choose_route() {
  plan_ = plan::choose(query_, plan::policy_of(region_.place.backend, region_.place.device));
  choose_runs();
}

// How the runs of a payload with gaps come into staging memory, or up from there.
void Side::choose_runs() {
  if (query_.is_contiguous || plan_.route == Route::kHost) return;
  choose_pack(plan_.form == plan::Form::kImage ? plan::PackLeg::kImage : plan::PackLeg::kStaging, query_.n_runs,
              &region_);
}

// A message of device memory may travel as a descriptor: to whom it goes.
void Side::find_peer(int peer, MPI_Comm comm, Sending sending) {
  const bool is_device = kind_ == MemoryKind::kDevice || kind_ == MemoryKind::kShared;
  const bool is_one_run = query_.is_contiguous || (query_.n_runs != 0 && can_pack(region_));  // or becomes one
  if (!is_device || !is_one_run || comm == MPI_COMM_NULL || query_.size_bytes == 0) return;
  query_.peer = peer_of(comm, peer, &world_peer_);
  if (query_.peer == plan::Peer::kUnknown) return;
  if (query_.peer != plan::Peer::kSelf && sending != Sending::kPersistent && !Permissions::process().has(world_peer_)) {
    query_.peer = plan::Peer::kUnknown;
    return;
  }
  if (query_.peer == plan::Peer::kLocal && query_.size_bytes <= PullHints::kLongestBytes &&
      !PullHints::process().may_offer(world_peer_)) {
    query_.peer = plan::Peer::kLocalHost;
  }
  query_.may_be_relied_on_to_buffer = sending == Sending::kStandardBlocking;
}

// A null pointer that the host MPI will refuse; or, by its own rules, not.
bool Side::is_wrong_null() const noexcept {
  return buffer_ == nullptr && region_.size_bytes() > 0 && region_.layout->first_byte == 0;
}

Side Side::outgoing_copy() const {
  Side copy;
  copy.buffer_ = buffer_;
  copy.message_count_ = message_count_;
  copy.message_type_ = message_type_;
  copy.kind_ = kind_;
  copy.world_peer_ = world_peer_;
  copy.run_offset_bytes_ = run_offset_bytes_;
  copy.query_ = query_;
  copy.plan_ = plan_;
  copy.region_ = region_;
  return copy;
}

Side Side::plain_copy() const {
  Side copy = outgoing_copy();
  copy.query_.peer = plan::Peer::kUnknown;
  copy.choose_route();
  return copy;
}

void Side::plan_without_ipc() {
  plan::Policy policy = plan::policy_of(region_.place.backend, region_.place.device);
  policy.allows_ipc = false;
  plan_ = plan::choose(query_, policy);
  choose_runs();
}

Status Side::open_packed_payload() {
  if (region_.layout->is_contiguous || packed_.is_live()) return {};
  if (Status status = packed_.acquire(region_.place, region_.size_bytes()); !status.is_ok()) return status;
  payload_ = {packed_.data(), static_cast<std::int64_t>(region_.size_bytes()), nullptr, {}};
  [[maybe_unused]] const bool is_named = named_layout(MPI_BYTE, &payload_.layout);
  return device::classify(packed_.data(), &payload_.place);
}

Status Side::pack_payload() const {
  if (packed_.data() == nullptr) return {};
  transfer::Packer packer;
  bool is_refused = false;
  Status status = packer.add(SLUICE_PACK, SLUICE_PACKED, region_, 0, region_.size_bytes(), packed_.data(), &is_refused);
  if (status.is_ok() && is_refused) status = Status::error(ErrorKind::kUnsupported, "no kernel packs this data");
  return status.is_ok() ? packer.wait() : status;
}

void Side::plan_without_packing() {
  query_.n_runs = 0;
  packed_.reset();
  query_.peer = plan::Peer::kUnknown;
  choose_route();
}

Arrival Side::read_arrival(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why) {
  if (!may_meet_descriptor_) return Arrival::kPlain;
  const Arrival arrival = look_at(came_bytes, sender, descriptor, why);
  if (is_staged() && is_long_receive()) note_arrival(came_bytes, arrival != Arrival::kPlain);
  return arrival;
}

Arrival Side::look_at(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why) const {
  if (came_bytes != kDescriptorBytes) return Arrival::kPlain;
  DescriptorMessage message;
  const std::byte *bytes = is_staged() ? staged_.data() : room();
  const bool is_in_place = !is_staged() && !lands_apart();
  if (is_in_place) {
    transfer::gather(region_, message.bytes, sizeof message.bytes);
    bytes = message.bytes;
  }
  const char *flaw = nullptr;
  const Arrival arrival = read_descriptor(bytes, sender, descriptor, &flaw);
  if (arrival == Arrival::kPlain) return arrival;
  if (is_in_place) transfer::scatter(region_, landing_.bytes, sizeof landing_.bytes);
  if (arrival == Arrival::kFlawed) {
    *why = Status::error(
        ErrorKind::kBadPeer,
        fmt::format("a message from {} tells of device memory, and {}; nothing was received. Only "
                    "Sluice makes such messages: see what else in the job writes to its memory",
                    sender < 0 ? "outside of MPI_COMM_WORLD" : fmt::format("rank {} of MPI_COMM_WORLD", sender), flaw));
  }
  return arrival;
}

bool Side::is_long_receive() const noexcept {
  return may_meet_descriptor_ && region_.size_bytes() >= ReceiveHints::kShortestBytes;
}

transfer::Staged::Room Side::expected_room() const noexcept {
  using Room = transfer::Staged::Room;
  return ReceiveHints::process().expects_plain(source_) ? Room::kSpare : Room::kUntouched;
}

// A short message says nothing of the long ones. In an image its end is somewhere, and blocks of a payload with gaps
// come there too.
void Side::note_arrival(std::uint64_t came_bytes, bool is_described) noexcept {
  if (is_described || came_bytes >= ReceiveHints::kShortestBytes) {
    ReceiveHints::process().note(source_, !is_described);
  }
  if (plan_.form == plan::Form::kImage || (is_described && !region_.layout->is_contiguous)) return;
  staged_.note_written(std::min(came_bytes, region_.size_bytes()));
}

// What a descriptor describes may be shorter than the descriptor, and the bytes behind it are to stay as they are.
void Side::keep_head() {
  if (!may_meet_descriptor_ || is_staged() || lands_apart()) return;
  if (!stays_ && (Permissions::must_be_safe() || !takes_descriptor())) claim_head();
  head_.set_open(true);
  if (room_ == nullptr) transfer::gather(region_, landing_.bytes, sizeof landing_.bytes);
}

// MPICH 4.0 receives whole elements into a type with gaps, and says that no more has come: of a descriptor, whose end
// lies within an element of a structure, too.
bool Side::takes_descriptor() const noexcept {
  return region_.layout->is_contiguous || region_.layout->packing->is_whole_at(kDescriptorBytes);
}

// More than an int counts cannot be received in any call's form as bytes: such a receive takes its chance.
void Side::claim_head() {
  if (takes_descriptor()) head_ = DescriptorLandings::process().claim(region_);
  if (!head_.is_empty() || region_.size_bytes() > std::uint64_t{std::numeric_limits<int>::max()}) return;
  room_ = std::make_unique_for_overwrite<std::byte[]>(region_.size_bytes());
}

void Side::stay(bool is_safe) {
  stays_ = true;
  if ((is_safe || (may_meet_descriptor_ && !takes_descriptor())) && may_meet_descriptor_ && !is_staged() &&
      !lands_apart())
    claim_head();
}

bool Side::is_safe() {
  if (!may_meet_descriptor_ || is_staged() || lands_apart() || stays_ || !head_.is_empty()) return true;
  head_ = DescriptorLandings::process().claim(region_);
  return !head_.is_empty();
}

void Side::leave_room(std::uint64_t came_bytes) const noexcept {
  if (room_ != nullptr) DescriptorLandings::process().scatter_around(region_, room_.get(), came_bytes);
}

Landing Side::landing() const {
  if (room_ != nullptr) {
    transfer::Region room{room_.get(), static_cast<std::int64_t>(region_.size_bytes()), nullptr, {}};
    [[maybe_unused]] const bool is_named = named_layout(MPI_BYTE, &room.layout);
    return {std::move(room), nullptr, nullptr, plan_.staging_memory};
  }
  return {region_, is_staged() ? staged_.data() : nullptr, is_staged() ? &staged_ : nullptr, plan_.staging_memory};
}

Status Side::open(std::uint64_t largest_count) {
  if (plan_.form == plan::Form::kImage) return staged_.open_image(region_, plan_.staging_memory);
  if (is_short_) return staged_.open(region_, plan_.staging_memory, kDescriptorBytes);
  if (plan_.form == plan::Form::kPacked) {
    const std::uint64_t bytes = region_.size_bytes();
    if (bytes > largest_count) {
      return Status::error(ErrorKind::kUnsupported,
                           "more than 2 GiB of a type with gaps cannot be staged through an int count; use the "
                           "large-count form (MPI_Send_c, ...) or send it in parts");
    }
    message_count_ = static_cast<MPI_Count>(bytes);
    message_type_ = MPI_PACKED;
  }
  return staged_.open(region_, plan_.staging_memory);
}

Status Side::copy_down() const {
  trace::Span span;
  span.begin();
  Status copied = staged_.copy_down();
  if (copied.is_ok()) span.end(trace::Lane::kD2h, message_, {region_.size_bytes()});
  return copied;
}

Status Side::copy_up(Operation operation, std::uint64_t came_bytes, MPI_Status *status) const {
  if (!is_staged() && !lands_apart()) return {};
  const std::uint64_t bytes = std::min(came_bytes, region_.size_bytes());
  Status copied;
  if (is_staged()) {
    copied = copy_up_bytes(operation, *status, bytes);
  } else {
    if (is_short_) transfer::scatter(region_, landing_.bytes, bytes);
    leave_room(bytes);
  }
  if (came_bytes == bytes) return copied;
  wire::set_received_bytes(status, bytes);
  return copied.is_ok() ? truncated(came_bytes, region_.size_bytes()) : copied;
}

Status Side::copy_up_whole(Operation operation, const MPI_Status &status) const {
  int is_cancelled = 0;
  if (!is_staged() || (wire::host().MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled != 0)) {
    return {};
  }
  return copy_up_bytes(operation, status, region_.size_bytes());
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

std::uint64_t Side::size_bytes() const noexcept {
  if (region_.layout != nullptr) return region_.size_bytes();
  MPI_Count size = 0;
  if (!statistics::is_enabled() || message_count_ <= 0 ||
      wire::host().MPI_Type_size_x(message_type_, &size) != MPI_SUCCESS) {
    return 0;
  }
  return static_cast<std::uint64_t>(size * message_count_);
}

}  // namespace sluice::ops
