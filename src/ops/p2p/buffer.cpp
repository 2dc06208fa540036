// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/buffer.hpp"

#include <limits>

#include "network/network.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "ops/p2p/permissions.hpp"
#include "ops/p2p/pull_hints.hpp"
#include "ops/p2p/receive_hints.hpp"
#include "plan/policy.hpp"
#include "transfer/packing.hpp"

namespace sluice::ops {

Status Buffer::to_receive(const p2p::Part &part, int peer, Buffer *buffer) {
  buffer->name(part.buffer, part.count, part.type);
  buffer->source_ = peer;
  return peer == MPI_PROC_NULL ? Status() : buffer->classify(Use::kReceived);
}

Status Buffer::of_plain(const void *address, MPI_Count count, MPI_Datatype type, int peer, Buffer *buffer) {
  // Sending does not change the memory; one pointer serves both directions.
  buffer->name(const_cast<void *>(address), count, type);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return peer == MPI_PROC_NULL ? Status() : buffer->classify(Use::kPlain);
}

Status Buffer::to_send(const p2p::Part &part, MPI_Comm comm, Buffer *buffer, Sending sending) {
  buffer->name(part.buffer, part.count, part.type);
  if (part.peer == MPI_PROC_NULL) return {};
  if (Status status = buffer->classify(Use::kSent); !status.is_ok()) return status;
  if (buffer->kind_ == MemoryKind::kHost) return {};
  buffer->find_peer(part.peer, comm, sending);
  buffer->choose_route();
  return {};
}

Status Buffer::classify(Use use) {
  const device::Backends backends = device::loaded_backends();
  // A host-only rank may be sent descriptors by ranks that are not.
  const bool may_be_described = use == Use::kReceived && wire::Channel::process().is_open();
  if (count_ < 0 || (!may_be_described && (count_ == 0 || backends.empty()))) return {};
  if (Status status = layout_if_valid(type_, &region_.layout); !status.is_ok()) return status;
  if (region_.layout == nullptr) return {};  // the host MPI refuses the type, in its own words
  region_.origin = static_cast<std::byte *>(address_);
  region_.count = count_;
  if (count_ > 0) {
    Status status =
        transfer::classify_payload(region_.origin, *region_.layout, address_ == MPI_BOTTOM, backends, &region_.place);
    if (!status.is_ok()) return status;
  }
  kind_ = region_.place.kind;
  may_meet_descriptor_ = may_be_described && !is_wrong_null();
  return kind_ == MemoryKind::kHost ? Status() : ask_for_plan(use);  // plan_ says so
}

// What the plan of memory that belongs to a device's runtime goes by.
Status Buffer::ask_for_plan(Use use) {
  const bool is_outgoing = use == Use::kSent;
  // Only what the host MPI does not touch by the program's type; the host MPI's int counts what is received; and parts
  // of a plain side are elements of the program's type.
  const bool may_name = kind_ == MemoryKind::kDevice && use != Use::kPlain && address_ != MPI_BOTTOM &&
                        region_.size_bytes() <= std::uint64_t{std::numeric_limits<int>::max()};
  const bool is_named_as_bytes = may_name && transfer::name_as_bytes(&region_);
  if (is_named_as_bytes) run_offset_bytes_ = region_.origin - static_cast<std::byte *>(address_);
  const bool is_contiguous = region_.layout->is_contiguous;
  // Absolute addresses may lead to several allocations, on devices and on the host: no image of those.
  const std::uint64_t span_bytes = is_contiguous || address_ == MPI_BOTTOM ? 0 : region_.span_bytes();
  query_ = {kind_, region_.size_bytes(), is_contiguous, is_named_as_bytes, is_outgoing, span_bytes};
  if (!is_contiguous) query_.n_runs = transfer::most_runs(*region_.layout, count_);
  if (is_outgoing) return {};  // the peer is still to be found
  query_.may_be_described = may_meet_descriptor_;
  query_.expects_staged = may_meet_descriptor_ && query_.size_bytes >= plan::kLongReceiveBytes &&
                          ReceiveHints::process().expects_staged(source_);
  choose_route();
  return {};
}

void Buffer::choose_route() {
  plan_ = plan::choose(query_, plan::policy_of(region_.place.backend, region_.place.device));
  choose_runs();
}

// How the runs of a payload with gaps come into staging memory, or up from there.
void Buffer::choose_runs() {
  if (query_.is_contiguous || plan_.route == Route::kHost) return;
  choose_pack(plan_.form == plan::Form::kImage ? plan::PackLeg::kImage : plan::PackLeg::kStaging, query_.n_runs,
              &region_);
}

// Whether a message of this may travel as a descriptor, as far as the memory says it. A persistent send of host memory
// stays the host MPI's own.
bool Buffer::may_be_described(Sending sending) const {
  if (kind_ == MemoryKind::kPinned) {
    return query_.is_contiguous && query_.size_bytes >= plan::kRelayPinnedFromBytes && sending != Sending::kPersistent;
  }
  const bool is_device = kind_ == MemoryKind::kDevice || kind_ == MemoryKind::kShared;
  const bool is_one_run = query_.is_contiguous || (query_.n_runs != 0 && can_pack(region_));  // or becomes one
  return is_device && is_one_run && query_.size_bytes != 0;
}

// A message may travel as a descriptor: to whom it goes.
void Buffer::find_peer(int peer, MPI_Comm comm, Sending sending) {
  if (comm == MPI_COMM_NULL || !may_be_described(sending)) return;
  query_.peer = peer_of(comm, peer, &world_peer_);
  if (query_.peer == plan::Peer::kUnknown) return;
  if (query_.peer != plan::Peer::kSelf && sending != Sending::kPersistent && !Permissions::process().has(world_peer_)) {
    query_.peer = plan::Peer::kUnknown;
    return;
  }
  const bool is_hinted = kind_ == MemoryKind::kPinned || query_.size_bytes <= PullHints::kLongestBytes;
  PullHints &hints = kind_ == MemoryKind::kPinned ? PullHints::of_host_memory() : PullHints::process();
  if (query_.peer == plan::Peer::kLocal && is_hinted && !hints.may_offer(world_peer_)) {
    query_.peer = plan::Peer::kLocalHost;
  }
  query_.may_be_relied_on_to_buffer = sending == Sending::kStandardBlocking;
  if (query_.peer != plan::Peer::kRemote) return;
  // What goes through the host anyway opens no library.
  query_.has_network = true;
  query_.has_network = plan::may_go_directly(query_, plan::policy_of(region_.place.backend, region_.place.device)) &&
                       network::Network::process().reaches(region_.place);
}

// A null pointer that the host MPI will refuse; or, by its own rules, not.
bool Buffer::is_wrong_null() const noexcept {
  return address_ == nullptr && region_.size_bytes() > 0 && region_.layout->first_byte == 0;
}

Buffer Buffer::to_send_plain() const {
  Buffer copy = *this;
  copy.query_.peer = plan::Peer::kUnknown;
  copy.choose_route();
  return copy;
}

Buffer Buffer::to_send_what_is_there() const {
  Buffer copy = *this;
  copy.may_meet_descriptor_ = false;
  copy.source_ = MPI_PROC_NULL;
  copy.plan_to_replace();
  return copy;
}

void Buffer::plan_to_replace() {
  if (plan_.route != Route::kUndecided) return;
  query_.may_be_described = false;
  choose_route();
}

void Buffer::plan_without_ipc() {
  query_.is_exportable = false;
  choose_route();
}

void Buffer::plan_without_relay() {
  query_.can_be_relayed = false;
  choose_route();
}

void Buffer::plan_without_packing() {
  query_.n_runs = 0;
  query_.peer = plan::Peer::kUnknown;
  choose_route();
}

std::uint64_t Buffer::size_bytes() const noexcept {
  if (region_.layout != nullptr) return region_.size_bytes();
  MPI_Count size = 0;
  if (!statistics::is_enabled() || count_ <= 0 || !is_valid(type_)) return 0;
  if (wire::host().MPI_Type_size_x(type_, &size) != MPI_SUCCESS) return 0;
  return static_cast<std::uint64_t>(size * count_);
}

}  // namespace sluice::ops
