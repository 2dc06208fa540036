// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/outgoing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bad_peer.hpp"
#include "base/log.hpp"
#include "base/recycled.hpp"
#include "base/statistics.hpp"
#include "network/network.hpp"
#include "ops/comm/peer_words.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/control.hpp"
#include "ops/p2p/permissions.hpp"
#include "ops/p2p/pull_hints.hpp"
#include "ops/request/turns.hpp"
#include "plan/gather.hpp"
#include "transfer/packing.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
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

// The send of a descriptor to this process itself, asked about to its end and never freed before: MPICH 4.0 holds no
// reference of its own to such a send on a communicator of one process, and a freed one's memory is used again while
// the message waits. Keeps the descriptor's bytes, too.
class SendToItself final : public progress::Task {
 public:
  SendToItself(std::shared_ptr<Outgoing> operation, MPI_Request request)
      : operation_(std::move(operation)), request_(request) {}

  bool advance() override { return is_over(&request_); }

 private:
  std::shared_ptr<Outgoing> operation_;
  MPI_Request request_;
};

}  // namespace

Outgoing::~Outgoing() {
  if (descriptor_.number != 0) wire::Channel::process().give_number(descriptor_.number);
}

std::shared_ptr<Outgoing> Outgoing::make(Operation operation, bool is_persistent, Buffer *buffer, const p2p::Part &part,
                                         MPI_Comm comm, Status *status) {
  if (!buffer->is_described()) return nullptr;
  auto made = make_recycled<Outgoing>(operation, is_persistent, std::move(*buffer), part, comm);
  if (!made->fill()) {
    *buffer = std::move(made->buffer_);
    return nullptr;
  }
  *status = made->open();
  return status->is_ok() ? made : nullptr;
}

Status Outgoing::open() {
  wire::Channel &channel = wire::Channel::process();
  if (Status status = channel.take_number(&descriptor_.number); !status.is_ok()) return status;
  const int private_tag = wire::Channel::tag(wire::PrivateKind::kAcknowledgement, descriptor_.number);
  auto *const receive = is_persistent() ? wire::host().MPI_Recv_init : wire::host().MPI_Irecv;
  const int code =
      receive(&acknowledgement_, sizeof acknowledgement_, MPI_BYTE, peer_, private_tag, channel.comm(), &request_);
  return code == MPI_SUCCESS ? Status() : wire::host_failure(code, "post the receive of an acknowledgement");
}

// What the descriptor says. False: this payload does not travel so after all, and is planned anew.
bool Outgoing::fill() {
  peer_ = buffer_.world_peer();
  if (!buffer_.region().layout->is_contiguous) {
    receiver_gathers_ = export_memory();
    if (!receiver_gathers_) bring_together();
    if (!buffer_.is_described()) return false;
  }
  if (!receiver_gathers_) locate();
  if (!buffer_.is_described()) return false;
  const transfer::Region &region = packed_.of(buffer_);
  const wire::Channel &channel = wire::Channel::process();
  descriptor_.nonce = channel.nonce();
  descriptor_.sender = channel.rank();
  descriptor_.blocks = transfer::cut(buffer_.plan().pipeline, region.size_bytes(), buffer_.plan().pipeline_blocks);
  descriptor_.route = buffer_.route();
  std::string_view owner = region.place.backend->name();
  if (descriptor_.route == Route::kDirect) owner = network::Network::process().opened()->name();
  std::memcpy(descriptor_.backend, owner.data(), std::min(owner.size(), sizeof descriptor_.backend - 1));
  return true;
}

// A payload with gaps is brought together first, so that it travels as any other. Where that cannot be done the buffer
// is planned anew, and staged; what a persistent request names is packed at its starts.
void Outgoing::bring_together() {
  Status status = packed_.open(buffer_);
  if (status.is_ok() && !is_persistent()) status = packed_.pack(buffer_);
  if (status.is_ok()) return;
  note_apart(status);
  packed_.close();
  buffer_.plan_without_packing();
}

// A payload with gaps that the receiver gathers is left as it is: the descriptor says where its runs lie. False: it is
// to be packed here, for whatever reason.
bool Outgoing::export_memory() {
  const transfer::Region &region = buffer_.region();
  if (buffer_.route() != Route::kIpc) return false;
  sluice_pack_t pack{};
  transfer::Reach reach;
  if (!transfer::describe_pack(region, &pack).is_ok()) return false;  // bring_together() says why
  const bool is_regular = pack.layout.n_blocks == 0 && transfer::reach_of(pack.layout, &reach);
  const bool is_one = is_regular && pack.layout.n_dimensions == 0;
  transfer::LayoutCode code{};
  const plan::GatherQuery query{region.size_bytes(), is_regular ? pack.layout.core_bytes : 0,
                                is_one || (is_regular && transfer::encode(pack.layout, &code))};
  const plan::GatherPlan plan = plan::choose_gatherer(query, plan::kGatherBytes);
  log::debug("plan", [&] { return explain(query, plan); });
  if (plan.by == plan::Gatherer::kSender) return false;
  const std::byte *lowest = transfer::at(static_cast<std::byte *>(pack.origin), reach.lowest_bytes);
  if (peer_ != wire::Channel::process().rank()) {
    device::Exported exported;
    if (!device::IpcExports::process().find(region.place, lowest, reach.span_bytes, &exported).is_ok()) return false;
    name(exported);
  } else {
    descriptor_.allocation_bytes = reach.span_bytes;
  }
  descriptor_.address = reinterpret_cast<std::uintptr_t>(lowest);
  descriptor_.layout = code;
  return true;
}

// The one run of bytes that the receiver pulls, or that is cut into blocks.
void Outgoing::locate() {
  const transfer::Region &region = packed_.of(buffer_);
  descriptor_.address = reinterpret_cast<std::uintptr_t>(region.origin);
  descriptor_.allocation_bytes = region.size_bytes();
  if (buffer_.route() == Route::kIpc && peer_ != wire::Channel::process().rank()) {
    device::Exported exported;
    if (device::IpcExports::process().find(region.place, region.origin, region.size_bytes(), &exported).is_ok()) {
      name(exported);
    } else {
      buffer_.plan_without_ipc();
    }
  }
  if (buffer_.route() == Route::kRelayed) lend_slots();
}

// The slots that the receiver copies blocks out of.
void Outgoing::lend_slots() {
  const Status status = RelayRing::find(peer_, buffer_.region().place, &ring_);
  if (!status.is_ok()) {
    log::warn_once("relay_memory", "p2p",
                   status.message() + "; messages out of memory that other processes cannot map go through the host");
    statistics::record_fallback("relay_memory");
    return buffer_.plan_without_relay();
  }
  name(ring_->exported());
  descriptor_.address = reinterpret_cast<std::uintptr_t>(ring_->data());
}

void Outgoing::name(const device::Exported &exported) noexcept {
  descriptor_.handle = exported.handle;
  descriptor_.offset_bytes = exported.offset_bytes;
  descriptor_.allocation_bytes = exported.allocation_bytes;
}

Status Outgoing::prepare() {
  bool may_describe = peer_ == wire::Channel::process().rank() || Permissions::process().has(peer_);
  if (may_describe && !receiver_gathers_) {
    const Status packed = packed_.pack(buffer_);
    may_describe = packed.is_ok();
    if (!may_describe) note_apart(packed);
  }
  is_plain_.store(!may_describe, std::memory_order_release);
  if (may_describe) return {};
  if (plain_ == nullptr) plain_ = std::make_shared<PlainStart>(buffer_.to_send_plain());
  return plain_->prepare(operation_, dest_, tag_);
}

int Outgoing::start_again(const std::shared_ptr<Tracked> & /*self*/, MPI_Request * /*request*/) {
  if (!is_plain()) return start(true);
  const int result = plain_->start(operation_, dest_, tag_, communicator());
  if (result == MPI_SUCCESS) progress::Engine::process().watch(plain_);
  return result;
}

void Outgoing::tell(waiting::Wait *wait) const noexcept {
  buffer_.tell(operation_, waiting::Direction::kSends, wait);
  tell_peer_at_once(communicator(), dest_, tag_, wait);
}

int Outgoing::start(bool starts_request) {
  descriptor_.operation = next_operation();
  write(descriptor_, &message_);
  is_acknowledged_.store(false, std::memory_order_relaxed);
  is_asked_.store(false);
  is_asked_directly_.store(false);
  stream_outcome_ = {};
  const wire::Host &host = wire::host();
  if (starts_request) acknowledgement_ = {};
  int result = starts_request ? host.MPI_Start(&request_) : MPI_SUCCESS;
  if (result != MPI_SUCCESS) return result;
  // Before anything is sent: another thread may hear the answer before this one goes on.
  ControlListener::process().add(descriptor_.number, shared_from_this(), descriptor_.route != Route::kIpc);
  MPI_Request sending = MPI_REQUEST_NULL;
  result = host.MPI_Isend(message_.bytes, sizeof message_.bytes, MPI_BYTE, dest_, tag_, communicator(), &sending);
  // The MPI-5 ABI of MPICH 5 returns success after it has called the program's error handler.
  if (result == MPI_SUCCESS && sending == MPI_REQUEST_NULL) result = MPI_ERR_OTHER;
  if (result != MPI_SUCCESS) {  // the host MPI has raised it; the acknowledgement will not come
    ControlListener::process().remove(descriptor_.number);
    if (host.MPI_Cancel(&request_) == MPI_SUCCESS) {
      [[maybe_unused]] const int waited = host.MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
    return result;
  }
  // The acknowledgement says that it has come, and until then message_ is kept: nobody need ask about the send itself.
  if (peer_ == wire::Channel::process().rank()) {
    progress::Engine::process().watch(std::make_shared<SendToItself>(shared_from_this(), sending));
  } else if (host.MPI_Request_free(&sending) != MPI_SUCCESS) {
    log::warn_once("free_descriptor", "p2p", "the host MPI could not free the request of a message");
  }
  buffer_.record(operation_);
  return MPI_SUCCESS;
}

bool Outgoing::advance() {
  using Form = Stream::Form;
  switch (stream_->form) {
    case Form::kBlocks:
      if (!stream_->blocks.advance()) return false;
      stream_outcome_ = stream_->blocks.outcome();
      break;
    case Form::kRelay:
      if (!stream_->relay.advance()) return false;
      stream_outcome_ = stream_->relay.outcome();
      break;
    case Form::kDirect:
      if (!stream_->direct.advance(stream_->n_blocks_then.load() != 0)) return false;
      break;
  }
  const std::scoped_lock lock(asking_);
  const std::uint64_t n_blocks = stream_->form == Stream::Form::kDirect ? stream_->n_blocks_then.load() : 0;
  is_streaming_.store(n_blocks != 0, std::memory_order_release);
  if (n_blocks == 0) return true;
  begin_blocks(n_blocks);
  return false;
}

Outgoing::Stream &Outgoing::stream() {
  if (stream_ == nullptr) stream_ = std::make_unique<Stream>();
  return *stream_;
}

BlockRoute Outgoing::block_route() const noexcept {
  return {peer_, descriptor_.number, {operation_, dest_, tag_, descriptor_.sender, descriptor_.operation}};
}

void Outgoing::begin_blocks(std::uint64_t n_blocks) {
  const std::byte *data = packed_.of(buffer_).origin;
  const Status status = receiver_gathers_ ? bring_together_late(&data) : Status();
  stream_->form = Stream::Form::kBlocks;
  if (!status.is_ok()) return stream_->blocks.refuse(block_route(), status);
  stream_->blocks.begin(packed_.of(buffer_).place, data, buffer_.staging_memory(), descriptor_.blocks,
                        static_cast<std::uint32_t>(n_blocks), block_route());
}

bool Outgoing::go_directly(const Control &control, int from, std::string_view address) {
  if (!transfer::asks_for(control, from, descriptor_, peer_)) return false;
  const std::scoped_lock lock(asking_);
  if (is_acknowledged_.load(std::memory_order_acquire) || is_asked_.load() || is_asked_directly_.exchange(true)) {
    return true;
  }
  const transfer::Region &region = packed_.of(buffer_);
  stream().form = Stream::Form::kDirect;
  stream_->n_blocks_then.store(0);
  is_streaming_.store(true, std::memory_order_release);
  stream_->direct.begin({region.place, region.origin, region.size_bytes()}, block_route(), address);
  progress::Engine::process().watch(shared_from_this());
  return true;
}

bool Outgoing::go(const Control &control, int from) {
  if (!transfer::asks_for(control, from, descriptor_, peer_)) return false;
  const std::scoped_lock lock(asking_);
  // Once acknowledged the buffer is the program's.
  if (is_acknowledged_.load(std::memory_order_acquire) || is_asked_.exchange(true)) return true;
  note_asked(control.kind);
  stream().n_blocks_then.store(control.n_blocks);
  // What the network library still has is ended first (advance()).
  if (is_streaming_.load(std::memory_order_acquire)) return true;
  // Before the receiver can hear of anything, an error too: from its answer on the program may start this again.
  is_streaming_.store(true, std::memory_order_release);
  if (control.kind == Control::Kind::kRelay) {
    const transfer::Region &region = buffer_.region();
    stream_->form = Stream::Form::kRelay;
    stream_->relay.begin(ring_, region.place, region.origin, region.size_bytes(), control.n_blocks, block_route());
  } else {
    begin_blocks(control.n_blocks);
  }
  progress::Engine::process().watch(shared_from_this());
  return true;
}

// What the receiver cannot pull, it will likely not pull the next time.
void Outgoing::note_asked(Control::Kind kind) noexcept {
  if (kind != Control::Kind::kGo) return;
  if (descriptor_.route == Route::kIpc) PullHints::process().note_blocks(peer_);
  if (buffer_.kind() == MemoryKind::kPinned) PullHints::of_host_memory().note_blocks(peer_);
}

// is_streaming_ orders what go() made before what is looked at here.
void Outgoing::note_taken(const Control &control, int from) noexcept {
  if (!is_streaming_.load(std::memory_order_acquire) || !transfer::tells_taken(control, from, descriptor_, peer_) ||
      stream_->form != Stream::Form::kRelay) {
    return;
  }
  stream_->relay.note_taken(control.n_blocks);
}

// The receiver cannot read the runs where they are and wants blocks: packs them now, on the device, or where that
// cannot be done, in staging memory. Blocks for that, once for such a message.
Status Outgoing::bring_together_late(const std::byte **data) {
  Status status = packed_.open(buffer_);
  if (status.is_ok()) status = packed_.pack(buffer_);
  if (status.is_ok()) {
    *data = packed_.of(buffer_).origin;
    return {};
  }
  note_apart(status);
  transfer::Staged &spilled = stream_->spilled;
  status = spilled.open(buffer_.region(), buffer_.staging_memory());
  if (status.is_ok()) status = spilled.copy_down();
  *data = spilled.data();
  return status;
}

Status Outgoing::finish(MPI_Status *status) {
  is_acknowledged_.store(true, std::memory_order_release);
  // That the last block was taken is still to be heard, as in recall().
  if (is_hidden()) progress::turn_until([this] { return !is_hidden(); });
  if (!is_plain()) ControlListener::process().remove(descriptor_.number);
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
    return bad_peer(
        fmt::format("rank {} of MPI_COMM_WORLD has acknowledged another message than was sent to it, and what it "
                    "received of this one is not known",
                    peer_));
  }
  // Blocks that could not be copied down were announced by an empty one: the receiver has an error too.
  return stream_outcome_;
}

}  // namespace sluice::ops
