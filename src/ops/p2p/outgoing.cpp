// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/outgoing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/recycled.hpp"
#include "base/statistics.hpp"
#include "device/ipc_exports.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/control.hpp"
#include "ops/p2p/permissions.hpp"
#include "ops/p2p/pull_hints.hpp"
#include "plan/gather.hpp"
#include "plan/policy.hpp"
#include "transfer/packing.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

std::uint64_t next_operation() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// A payload with gaps was not brought together: slower, and said once.
void note_apart(const Status &why) {
  log::warn_once("pack_payload", "p2p", why.message() + "; such messages are staged instead");
  statistics::record_fallback("pack_payload");
}

}  // namespace

Outgoing::~Outgoing() {
  if (descriptor_.number != 0) wire::Channel::process().give_number(descriptor_.number);
}

std::shared_ptr<Outgoing> Outgoing::make(Operation operation, bool is_persistent, Side *side, int dest, int tag,
                                         MPI_Comm comm, Status *status) {
  if (!side->is_described()) return nullptr;
  auto made = make_recycled<Outgoing>(operation, comm, is_persistent);
  bool is_possible = true;
  *status = made->open(side, dest, tag, &is_possible);
  return status->is_ok() && is_possible ? made : nullptr;
}

Status Outgoing::open(Side *side, int dest, int tag, bool *is_possible) {
  *is_possible = true;
  if (Status status = fill(side, is_possible); !status.is_ok() || !*is_possible) return status;
  side_ = std::move(*side);
  dest_ = dest;
  tag_ = tag;
  wire::Channel &channel = wire::Channel::process();
  if (Status status = channel.take_number(&descriptor_.number); !status.is_ok()) return status;
  const int private_tag = wire::Channel::tag(wire::PrivateKind::kAcknowledgement, descriptor_.number);
  auto *const receive = is_persistent() ? wire::host().MPI_Recv_init : wire::host().MPI_Irecv;
  if (receive(&acknowledgement_, sizeof acknowledgement_, MPI_BYTE, peer_, private_tag, channel.comm(), &request_) !=
      MPI_SUCCESS) {
    return Status::error(ErrorKind::kBackend, "the host MPI could not post the receive of an acknowledgement");
  }
  return {};
}

// A payload with gaps is brought together first, so that it travels as any other. Where that cannot be done the side is
// planned anew, and staged; what a persistent request names is packed at its starts.
void Outgoing::bring_together(Side *side, bool is_persistent) {
  Status status = side->open_packed_payload();
  if (status.is_ok() && !is_persistent) status = side->pack_payload();
  if (status.is_ok()) return;
  note_apart(status);
  side->plan_without_packing();
}

// A payload that the receiver gathers is left as it is: the descriptor says where its runs lie. False: it has no gaps,
// or is to be packed here, for whatever reason.
bool Outgoing::export_memory(const Side &side) {
  const transfer::Region &region = side.region();
  if (side.route() != Route::kIpc || region.layout->is_contiguous) return false;
  sluice_pack_t pack{};
  transfer::Reach reach;
  if (!transfer::describe_pack(region, &pack).is_ok()) return false;  // bring_together() says why
  const bool is_regular = pack.layout.n_blocks == 0 && transfer::reach_of(pack.layout, &reach);
  const bool is_one = is_regular && pack.layout.n_dimensions == 0;
  transfer::LayoutCode code{};
  const plan::GatherQuery query{region.size_bytes(), is_regular ? pack.layout.core_bytes : 0,
                                is_one || (is_regular && transfer::encode(pack.layout, &code))};
  const plan::GatherPlan plan = plan::choose_gatherer(query, plan::kGatherBytes);
  if (log::level() >= log::Level::kDebug) log::debug("plan", explain(query, plan));
  if (plan.by == plan::Gatherer::kSender) return false;
  const std::byte *lowest = transfer::at(static_cast<std::byte *>(pack.origin), reach.lowest_bytes);
  if (peer_ != wire::Channel::process().rank()) {
    device::Exported exported;
    if (!device::IpcExports::process().find(region.place, lowest, reach.span_bytes, &exported).is_ok()) return false;
    descriptor_.handle = exported.handle;
    descriptor_.offset_bytes = exported.offset_bytes;
    descriptor_.allocation_bytes = exported.allocation_bytes;
  } else {
    descriptor_.allocation_bytes = reach.span_bytes;
  }
  descriptor_.address = reinterpret_cast<std::uintptr_t>(lowest);
  descriptor_.layout = code;
  return true;
}

Status Outgoing::fill(Side *side, bool *is_possible) {
  peer_ = side->world_peer();
  is_exported_ = export_memory(*side);
  if (!is_exported_) bring_together(side, is_persistent());
  *is_possible = side->is_described();
  if (!*is_possible) return {};
  if (!is_exported_) locate(side);
  *is_possible = side->route() != Route::kStaged;
  if (!*is_possible) return {};
  const transfer::Region &region = side->payload();
  const wire::Channel &channel = wire::Channel::process();
  const plan::Policy policy = plan::policy_of(region.place.backend, region.place.device);
  const bool is_cut = region.size_bytes() >= policy.pipeline_threshold_bytes;
  descriptor_.nonce = channel.nonce();
  descriptor_.sender = channel.rank();
  descriptor_.blocks =
      transfer::cut(is_cut ? policy.pipeline : Pipeline::kNone, region.size_bytes(), policy.pipeline_blocks);
  descriptor_.route = side->route();
  const std::size_t length = std::min(std::strlen(region.place.backend->name()), sizeof descriptor_.backend - 1);
  std::memcpy(descriptor_.backend, region.place.backend->name(), length);
  return {};
}

// The one run of bytes that the receiver pulls, or that is cut into blocks.
void Outgoing::locate(Side *side) {
  const transfer::Region &region = side->payload();
  if (side->route() == Route::kIpc && peer_ != wire::Channel::process().rank()) {
    device::Exported exported;
    if (device::IpcExports::process().find(region.place, region.origin, region.size_bytes(), &exported).is_ok()) {
      descriptor_.handle = exported.handle;
      descriptor_.offset_bytes = exported.offset_bytes;
      descriptor_.allocation_bytes = exported.allocation_bytes;
    } else {
      side->plan_without_ipc();
    }
  } else {
    descriptor_.allocation_bytes = region.size_bytes();
  }
  descriptor_.address = reinterpret_cast<std::uintptr_t>(region.origin);
}

Status Outgoing::prepare() {
  // The start before this one was acknowledged; what the engine still does for it needs nobody's help.
  if (is_served_.load(std::memory_order_acquire)) {
    progress::turn_until([&] { return !is_served_.load(std::memory_order_acquire); });
  }
  bool may_describe = peer_ == wire::Channel::process().rank() || Permissions::process().has(peer_);
  if (may_describe && !is_exported_) {
    const Status packed = side_.pack_payload();
    may_describe = packed.is_ok();
    if (!may_describe) note_apart(packed);
  }
  is_plain_.store(!may_describe, std::memory_order_release);
  if (may_describe) return {};
  if (plain_ == nullptr) plain_ = std::make_shared<PlainStart>(side_);
  return plain_->prepare(operation_, dest_, tag_);
}

int Outgoing::start_again(const std::shared_ptr<Tracked> & /*self*/, MPI_Request * /*request*/) {
  if (!is_plain()) return start(true);
  const int result = plain_->start(operation_, dest_, tag_, communicator());
  if (result == MPI_SUCCESS) progress::Engine::process().watch(plain_);
  return result;
}

int Outgoing::start(bool starts_request) {
  descriptor_.operation = next_operation();
  write(descriptor_, &message_);
  is_acknowledged_.store(false, std::memory_order_relaxed);
  is_asked_ = false;
  stream_outcome_ = {};
  const wire::Host &host = wire::host();
  if (starts_request) acknowledgement_ = {};
  int result = starts_request ? host.MPI_Start(&request_) : MPI_SUCCESS;
  if (result != MPI_SUCCESS) return result;
  // Before anything is sent: another thread may hear the answer before this one goes on.
  ControlListener::process().add(descriptor_.number, shared_from_this(), descriptor_.route == Route::kPipelined);
  result =
      host.MPI_Isend(message_.bytes, sizeof message_.bytes, MPI_BYTE, dest_, tag_, communicator(), &message_request_);
  // The MPI-5 ABI of MPICH 5 returns success after it has called the program's error handler.
  if (result == MPI_SUCCESS && message_request_ == MPI_REQUEST_NULL) result = MPI_ERR_OTHER;
  if (result != MPI_SUCCESS) {  // the host MPI has raised it; the acknowledgement will not come
    ControlListener::process().remove(descriptor_.number);
    if (host.MPI_Cancel(&request_) == MPI_SUCCESS) {
      [[maybe_unused]] const int waited = host.MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
    return result;
  }
  side_.record(operation_, side_.size_bytes(), {});
  is_served_.store(true, std::memory_order_release);
  progress::Engine::process().watch(shared_from_this());
  return MPI_SUCCESS;
}

bool Outgoing::advance() {
  if (is_streaming_.load(std::memory_order_acquire) && blocks_.advance()) {
    stream_outcome_ = blocks_.outcome();
    is_streaming_.store(false, std::memory_order_release);
  }
  if (message_request_ != MPI_REQUEST_NULL) {
    int is_done = 0;
    if (wire::host().MPI_Test(&message_request_, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) {
      return false;
    }
    message_request_ = MPI_REQUEST_NULL;
  }
  if (is_streaming_.load(std::memory_order_acquire) || !is_acknowledged_.load(std::memory_order_acquire)) return false;
  ControlListener::process().remove(descriptor_.number);
  is_served_.store(false, std::memory_order_release);
  return true;
}

bool Outgoing::go(const Control &control, int from) {
  if (!transfer::asks_for(control, from, descriptor_, peer_)) return false;
  // Once acknowledged the buffer is the program's.
  if (is_asked_ || is_acknowledged_.load(std::memory_order_acquire)) return true;
  is_asked_ = true;
  if (descriptor_.route == Route::kIpc) PullHints::process().note_blocks(peer_);
  const BlockRoute route{
      peer_, descriptor_.number, {operation_, dest_, tag_, descriptor_.sender, descriptor_.operation}};
  const std::byte *data = side_.payload().origin;
  const Status status = is_exported_ ? bring_together_late(&data) : Status();
  if (status.is_ok()) {
    blocks_.begin(side_.payload().place, data, side_.staging_memory(), descriptor_.blocks,
                  static_cast<std::uint32_t>(control.n_blocks), route);
  } else {
    blocks_.refuse(route, status);
  }
  is_streaming_.store(true, std::memory_order_release);
  return true;
}

// The receiver cannot read the runs where they are and wants blocks: packs them now, on the device, or where that
// cannot be done, in staging memory. Blocks for that, once for such a message.
Status Outgoing::bring_together_late(const std::byte **data) {
  Status status = side_.open_packed_payload();
  if (status.is_ok()) status = side_.pack_payload();
  if (status.is_ok()) {
    *data = side_.payload().origin;
    return {};
  }
  note_apart(status);
  status = spilled_.open(side_.region(), side_.staging_memory());
  if (status.is_ok()) status = spilled_.copy_down();
  *data = spilled_.data();
  return status;
}

Status Outgoing::finish(MPI_Status *status) {
  is_acknowledged_.store(true, std::memory_order_release);
  return recall(status);
}

Status Outgoing::recall(MPI_Status *status) {
  // As the host MPIs leave the statuses of sends; what they hold now is the acknowledgement's, or nothing's.
  wire::clear(status);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  wire::set_received_bytes(status, 0);
  // Other threads may have heard GO and sent all blocks between this one's look at is_hidden() and the acknowledgement.
  if (is_hidden()) progress::turn_until([this] { return !is_hidden(); });
  if (is_plain()) return plain_->outcome();
  if (!transfer::ends(acknowledgement_, descriptor_)) {
    return Status::error(ErrorKind::kBadPeer,
                         fmt::format("rank {} of MPI_COMM_WORLD has acknowledged another message than was sent to it; "
                                     "what it received of this one is not known",
                                     peer_));
  }
  // Blocks that could not be copied down were announced by an empty one: the receiver has an error too.
  return stream_outcome_;
}

}  // namespace sluice::ops
