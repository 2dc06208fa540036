// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/pull.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "device/registry.hpp"
#include "network/network.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "ops/request/turns.hpp"
#include "plan/policy.hpp"
#include "transfer/host_layout.hpp"
#include "transfer/packing.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {

Status truncated(std::uint64_t came_bytes, std::uint64_t room_bytes) {
  return Status::error(ErrorKind::kTruncated,
                       fmt::format("message truncated: {} bytes came and the receive has room for {}; make it longer",
                                   came_bytes, room_bytes));
}

namespace {
// A receive shorter than a descriptor gets no byte of a message that is too long, as with a plain message. It gets the
// error alone.
std::uint64_t bytes_to_bring(std::uint64_t came_bytes, std::uint64_t room_bytes) noexcept {
  return came_bytes > room_bytes && room_bytes < kDescriptorBytes ? 0 : std::min(came_bytes, room_bytes);
}

// The device that the receive's memory belongs to can put what comes there: by a copy, or a kernel where either end has
// gaps.
bool can_place(const transfer::Region &region, const Descriptor &descriptor) {
  if (!region.layout->is_contiguous) return can_pack(region);
  if (transfer::is_one_run(descriptor.layout)) return true;
  return plan::policy_of(region.place.backend, region.place.device).pack.use != plan::PackUse::kCopies;
}

}  // namespace

Pull::Pull(const Descriptor &descriptor, const Landing &landing, Operation operation, int source, int tag)
    : descriptor_(descriptor),
      landing_(landing),
      message_{operation, source, tag, descriptor.sender, descriptor.operation},
      wanted_bytes_(bytes_to_bring(descriptor.size_bytes(), landing.region.size_bytes())) {}

Pull::~Pull() = default;

bool Pull::advance() {
  if (state_ == State::kNew) {
    begin();  // a copy is not asked after in the turn in which it was begun: others of the same turn may join
  } else if (state_ == State::kCopying) {
    poll_copy();
  }
  if (state_ == State::kRelaying && relay_->advance()) acknowledge(relay_->outcome());
  if (state_ == State::kDirect) poll_directly();
  if (state_ == State::kStreaming && blocks_->advance()) finish_stream();
  return state_ == State::kAcknowledging && is_sent();
}

void Pull::begin() {
  if (wanted_bytes_ == 0) return acknowledge({});
  if (descriptor_.route == Route::kDirect) {
    if (begin_directly()) return;
  } else if (descriptor_.route != Route::kPipelined) {
    const bool is_relayed = descriptor_.route == Route::kRelayed;
    bool is_begun = false;
    Status status = is_relayed ? begin_relay(&is_begun) : begin_copy(&is_begun);
    if (!status.is_ok()) return acknowledge(std::move(status));
    if (is_begun) {
      route_ = descriptor_.route;
      state_ = is_relayed ? State::kRelaying : State::kCopying;
      return;
    }
  }
  stream_instead();
}

// Has the payload come in blocks.
void Pull::stream_instead() {
  route_ = Route::kPipelined;
  state_ = State::kStreaming;
  if (Status status = begin_stream(); !status.is_ok()) acknowledge(std::move(status));
}

// Has the network library bring the whole message into the program's memory. False where it cannot: then the sender is
// asked for blocks, as for a message that is too long, that is to be spread, or that goes around another's descriptor.
bool Pull::begin_directly() {
  const transfer::Region &region = landing_.region;
  network::Network &network = network::Network::process();
  if (wanted_bytes_ != descriptor_.size_bytes() || !region.layout->is_contiguous || landing_.head != nullptr ||
      landing_.staged == nullptr || !network.reaches(region.place)) {
    return false;
  }
  network::Provider *const provider = network.provider();
  if (provider == nullptr || provider->name() != std::string_view(descriptor_.backend)) return false;
  direct_ = std::make_unique<IncomingDirect>();
  const Status status = direct_->begin(provider, {region.place, region.origin, wanted_bytes_}, descriptor_,
                                       {descriptor_.sender, descriptor_.number, message_});
  if (!status.is_ok()) {
    direct_.reset();
    return false;
  }
  route_ = Route::kDirect;
  state_ = State::kDirect;
  return true;
}

void Pull::poll_directly() {
  if (!direct_->advance()) return;
  if (direct_->outcome().is_ok()) return acknowledge({});
  stream_instead();
}

void Pull::poll_copy() {
  if (unpacking_.is_running()) return poll_unpacking();
  bool is_done = false;
  if (!span_.is_begun()) span_.begin();  // asking begins what has not begun
  Status status = poll_batches(&is_done);
  if (!is_done) return;
  if (status.is_ok()) {
    const bool is_pinned = landing_.region.place.kind == MemoryKind::kPinned;
    const trace::Lane lane = is_pinned ? trace::Lane::kD2h : trace::Lane::kD2d;
    span_.end(lane, message_, {wanted_bytes_});
    return acknowledge({});
  }
  if (batch_->size() > 1 || (head_batch_ != nullptr && head_batch_->size() > 1)) {
    // Whose error it is shows when each is copied alone.
    batch_ = device::CopyBatch::alone(landing_.region.place, piece_);
    if (head_batch_ != nullptr) head_batch_ = device::CopyBatch::alone(landing_.region.place, head_piece_);
    return;
  }
  if (batch_->has_begun()) return acknowledge(std::move(status));
  fall_back(status);
  stream_instead();
}

Status Pull::poll_batches(bool *is_done) {
  const std::uint64_t turn = progress::Engine::process().turn_number();
  Status status = batch_->poll(turn, is_done);
  if (head_batch_ == nullptr) return status;
  bool is_head_done = false;
  Status head = head_batch_->poll(turn, &is_head_done);
  *is_done = *is_done && is_head_done;
  return status.is_ok() ? head : status;
}

// Slower, and said once.
void Pull::fall_back(const Status &why) {
  log::warn_once("ipc_open", "p2p", why.message() + "; such messages come in blocks instead");
  statistics::record_fallback("ipc_open");
}

// A device of the sender's runtime reaches the receive's memory: its own, shared, or pinned memory of the host.
bool Pull::has_same_runtime() const {
  const device::Place &place = landing_.region.place;
  return place.backend != nullptr && place.kind != MemoryKind::kFreed &&
         std::strcmp(place.backend->name(), descriptor_.backend) == 0 && place.backend->table().ipc_open != nullptr;
}

// Where the memory that the descriptor names is mapped here; null: it cannot be. Errors: there is less memory than the
// sender says, so nothing that it says is to be done.
Status Pull::open_source(const std::byte **source) {
  const device::Place &place = landing_.region.place;
  if (descriptor_.sender == wire::Channel::process().rank()) {
    *source = reinterpret_cast<const std::byte *>(static_cast<std::uintptr_t>(descriptor_.address));
    return {};
  }
  const device::ExportOrigin origin{static_cast<std::uint64_t>(descriptor_.sender),
                                    descriptor_.address - descriptor_.offset_bytes, descriptor_.allocation_bytes};
  Status status =
      device::IpcImports::process().open(place.backend, place.device_index(), descriptor_.handle, origin, &imported_);
  if (status.is_ok()) *source = imported_->base() + descriptor_.offset_bytes;
  if (status.is_ok() || status.kind() == ErrorKind::kBadPeer) return status;
  fall_back(status);
  return {};
}

// Copies block by block out of the slots of the sender. Not begun when that cannot be done here: then the sender is
// asked for blocks by the host. A payload that comes apart goes so, too, and one that goes around another's descriptor.
Status Pull::begin_relay(bool *is_begun) {
  const transfer::Region &region = landing_.region;
  if (!has_same_runtime() || !region.layout->is_contiguous || landing_.head != nullptr) return {};
  const std::byte *slots = nullptr;
  if (Status status = open_source(&slots); !status.is_ok() || slots == nullptr) return status;
  relay_ = std::make_unique<IncomingRelay>();
  Status status = relay_->begin({region.place, region.origin, wanted_bytes_}, descriptor_, slots,
                                {descriptor_.sender, descriptor_.number, message_});
  if (!status.is_ok()) return status;
  *is_begun = true;
  return ask(Control::Kind::kRelay, relay_->n_blocks());
}

// Pulls straight into the program's memory. Not begun when that cannot be done here: then the sender is asked for
// blocks. Errors: as open_source().
Status Pull::begin_copy(bool *is_begun) {
  const transfer::Region &region = landing_.region;
  const device::Place &place = region.place;
  if (!has_same_runtime() || !can_place(region, descriptor_)) return {};
  const std::byte *source = nullptr;
  if (Status status = open_source(&source); !status.is_ok() || source == nullptr) return status;
  *is_begun = true;
  if (!region.layout->is_contiguous || !transfer::is_one_run(descriptor_.layout)) {
    *is_begun = begin_kernel(source);
    return {};
  }
  using device::CopyBatch;
  const CopyBatch::Source whose = imported_ == nullptr ? CopyBatch::Source::kSelf : CopyBatch::Source::kPeer;
  piece_ = {landing_.head != nullptr ? landing_.head : region.origin, source, wanted_bytes_};
  if (landing_.head != nullptr && wanted_bytes_ > kDescriptorBytes) {
    head_piece_ = {landing_.head, source, kDescriptorBytes};
    head_batch_ = CopyBatch::join(place, head_piece_, whose);
    piece_ = {region.origin + kDescriptorBytes, source + kDescriptorBytes, wanted_bytes_ - kDescriptorBytes};
  }
  batch_ = CopyBatch::join(place, piece_, whose);
  return {};
}

// One kernel reads the payload in the sender's memory, one run or by the sender's layout, and puts it where it belongs:
// into one run, or by the receive's.
bool Pull::begin_kernel(const std::byte *source) {
  // Only read, though a pack's memory has one type in both directions.
  auto *lowest = const_cast<std::byte *>(source);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  bool is_refused = false;
  Status status = queue_.acquire(landing_.region.place);
  if (status.is_ok()) status = enqueue_kernel(lowest, &is_refused);
  if (status.is_ok() && !is_refused) status = unpacking_.begin(&queue_);
  if (status.is_ok() && !is_refused) {
    span_.begin();
    return true;
  }
  imported_.reset();  // an error has waited for what was enqueued, which blocks then write again
  if (!status.is_ok()) fall_back(status);
  return false;
}

// The first `wanted_bytes_` of the sender's payload, whose lowest byte is mapped at `lowest`.
Status Pull::enqueue_kernel(std::byte *lowest, bool *is_refused) {
  const transfer::Region &region = landing_.region;
  if (transfer::is_one_run(descriptor_.layout)) {
    return transfer::enqueue_pack(&queue_, SLUICE_UNPACK, SLUICE_PACKED, region, 0, wanted_bytes_, lowest, is_refused);
  }
  sluice_layout_t layout;
  transfer::Reach reach;
  if (!transfer::decode(descriptor_.layout, &layout) || !transfer::reach_of(layout, &reach)) {
    *is_refused = true;  // is_sound() has seen to it
    return {};
  }
  sluice_pack_t pack{};
  pack.size_bytes = wanted_bytes_;
  std::byte *const origin = transfer::at(lowest, -reach.lowest_bytes);
  if (region.layout->is_contiguous) {
    pack.direction = SLUICE_PACK;
    pack.form = SLUICE_PACKED;
    pack.layout = layout;
    pack.origin = origin;
    pack.lowest_bytes = reach.lowest_bytes;
    pack.span_bytes = reach.span_bytes;
    pack.beside = region.origin;
    return transfer::enqueue_pack(&queue_, pack, is_refused);
  }
  pack.direction = SLUICE_UNPACK;
  pack.form = SLUICE_LAID_OUT;
  pack.beside_layout = layout;
  pack.beside = origin;
  pack.beside_lowest_bytes = reach.lowest_bytes;
  pack.beside_span_bytes = reach.span_bytes;
  return transfer::enqueue_pack(&queue_, region, pack, is_refused);
}

void Pull::poll_unpacking() {
  bool is_done = false;
  Status status = unpacking_.poll(&is_done);
  if (!is_done) return;
  if (status.is_ok()) span_.end(trace::Lane::kKernel, message_, {wanted_bytes_});
  acknowledge(std::move(status));
}

Status Pull::begin_stream() {
  IncomingBlocks::Target target{landing_.region.place, landing_.region.origin, wanted_bytes_, landing_.staging_memory,
                                landing_.head};
  const bool is_host = landing_.staged == nullptr;
  if (is_host) target.place.kind = MemoryKind::kHost;
  if (!landing_.region.layout->is_contiguous) {
    target.place.kind = MemoryKind::kHost;
    if (is_host) scratch_ = std::make_unique_for_overwrite<std::byte[]>(wanted_bytes_);
    target.memory = is_host ? scratch_.get() : landing_.staging;
  }
  blocks_ = std::make_unique<IncomingBlocks>();
  if (Status status = blocks_->begin(target, descriptor_.blocks, {descriptor_.sender, descriptor_.number, message_});
      !status.is_ok()) {
    return status;
  }
  return ask(Control::Kind::kGo, blocks_->n_blocks());
}

Status Pull::ask(Control::Kind kind, std::uint64_t n_blocks) {
  const wire::Channel &channel = wire::Channel::process();
  go_ = {kind, descriptor_.number, descriptor_.operation, n_blocks};
  const int code =
      wire::host().MPI_Isend(&go_, sizeof go_, MPI_BYTE, descriptor_.sender,
                             wire::Channel::tag(wire::PrivateKind::kControl, 0), channel.comm(), &go_request_);
  return code == MPI_SUCCESS ? Status() : wire::host_failure(code, "ask a sender for its blocks");
}

void Pull::finish_stream() {
  Status status = blocks_->outcome();
  if (status.is_ok() && !landing_.region.layout->is_contiguous) {
    if (landing_.staged != nullptr) {
      span_.begin();
      status = landing_.staged->copy_up(wanted_bytes_);
      if (status.is_ok()) span_.end(trace::Lane::kH2d, message_, {wanted_bytes_});
    } else {
      transfer::scatter(landing_.region, scratch_.get(), wanted_bytes_);
    }
  }
  acknowledge(std::move(status));
}

// The sender's buffer is its own again; nothing of this operation reads it any more.
void Pull::acknowledge(Status outcome) {
  state_ = State::kAcknowledging;
  batch_.reset();
  head_batch_.reset();
  imported_.reset();
  outcome_ = std::move(outcome);
  if (outcome_.is_ok() && descriptor_.size_bytes() > wanted_bytes_) {
    outcome_ = truncated(descriptor_.size_bytes(), landing_.region.size_bytes());
  }
  const wire::Channel &channel = wire::Channel::process();
  acknowledgement_.operation = descriptor_.operation;
  const int code = wire::host().MPI_Isend(&acknowledgement_, sizeof acknowledgement_, MPI_BYTE, descriptor_.sender,
                                          wire::Channel::tag(wire::PrivateKind::kAcknowledgement, descriptor_.number),
                                          channel.comm(), &acknowledgement_request_);
  if (code != MPI_SUCCESS && outcome_.is_ok()) outcome_ = wire::host_failure(code, "acknowledge a message");
  is_settled_.store(true, std::memory_order_release);
}

bool Pull::is_sent() {
  if (direct_ != nullptr && !direct_->is_over()) return false;
  return is_over(&go_request_) && is_over(&acknowledgement_request_);
}

}  // namespace sluice::ops
