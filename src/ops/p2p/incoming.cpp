// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/incoming.hpp"

#include <utility>

#include "base/recycled.hpp"
#include "ops/comm/peer_words.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/arrivals.hpp"
#include "ops/p2p/permissions.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

// A copy of what the host MPI says, but for the error field, which belongs to calls that complete several requests.
void copy_status(const MPI_Status &from, MPI_Status *to) noexcept {
  const int error = to->MPI_ERROR;
  *to = from;
  to->MPI_ERROR = error;
}

// MPICH 5 and Intel MPI tell the error of a persistent receive, too, only once.
Status error_of_host(int code) {
  int error_class = MPI_ERR_OTHER;
  const bool is_truncated =
      wire::host().MPI_Error_class(code, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_TRUNCATE;
  return is_truncated
             ? Status::error(ErrorKind::kTruncated, "message truncated: the receive is shorter; make it longer")
             : wire::host_failure(code, "complete a persistent receive");
}

// By the status of a receive on `comm`, whose state this is (null for MPI_COMM_WORLD, and where there is none). A
// matched message does not name its communicator.
int find_sender(Operation operation, MPI_Comm comm, const CommState *state, const MPI_Status &status) noexcept {
  if (operation == Operation::kMrecv || operation == Operation::kImrecv || status.MPI_SOURCE < 0) return -1;
  if (comm == MPI_COMM_WORLD) return status.MPI_SOURCE < wire::Channel::process().size() ? status.MPI_SOURCE : -1;
  const auto rank = static_cast<std::size_t>(status.MPI_SOURCE);
  return state != nullptr && rank < state->world_ranks.size() ? state->world_ranks[rank] : -1;
}

}  // namespace

int Incoming::sender_of(const MPI_Status &status) const noexcept {
  return envelope_.has_value() ? envelope_->sender : find_sender(operation_, communicator(), state_.get(), status);
}

void Incoming::serve(const std::shared_ptr<Incoming> &self, MPI_Request request,
                     const std::optional<Envelope> &envelope) {
  request_ = request;
  envelope_ = envelope;
  if (communicator() != MPI_COMM_WORLD && !envelope.has_value()) state_ = recent_state_of(communicator());
  is_hidden_.store(true, std::memory_order_release);
  Arrivals::process().add(self);
}

bool Incoming::looks_for_arrival() {
  int is_done = 0;
  const int result = wire::host().MPI_Request_get_status(request_, &is_done, &completed_);
  if (result == MPI_SUCCESS && is_done == 0) return true;
  is_completed_ = result == MPI_SUCCESS;
  if (result != MPI_SUCCESS && is_persistent()) outcome_ = error_of_host(result);
  const int sender = is_completed_ ? sender_of(completed_) : -1;
  Descriptor descriptor;
  const Arrival arrival = is_completed_
                              ? side.read_arrival(wire::received_bytes(completed_), sender, &descriptor, &outcome_)
                              : Arrival::kPlain;
  if (arrival == Arrival::kPlain && is_completed_) {
    side.end_received(operation_, completed_);
    // Now, not when the program asks: with a progress thread it may be looking at its buffer.
    outcome_ = side.copy_up(operation_, wire::received_bytes(completed_), &completed_);
    Permissions::note_plain(side, sender);
  }
  if (arrival != Arrival::kPlain) side.abandon_wire();
  if (arrival == Arrival::kFlawed) wire::set_received_bytes(&completed_, 0);
  if (arrival != Arrival::kDescriptor) {
    settle();  // a plain message, a flawed one, a cancelled receive, or an error that the completion call is to see
    return false;
  }
  const int from = envelope_.has_value() ? envelope_->source : completed_.MPI_SOURCE;
  const int with = envelope_.has_value() ? envelope_->tag : completed_.MPI_TAG;
  pull_ = make_recycled<Pull>(descriptor, side.landing(), operation_, from, with);
  return false;
}

bool Incoming::advance() {
  const bool is_done = pull_->advance();
  if (!pull_->is_settled()) return false;
  // What is left is to see the acknowledgement off. The program may start this receive again as soon as it is settled.
  if (!is_done) progress::Engine::process().watch(pull_);
  side.leave_room_described(pull_->received_bytes());
  settle();
  return true;
}

int Incoming::start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) {
  const auto incoming = std::static_pointer_cast<Incoming>(self);
  Posting posting = look_at_claims(communicator(), again.source, again.tag);
  is_completed_ = false;
  outcome_ = {};
  pull_.reset();
  side.begin_wire();
  if (!posting.claim.has_value()) {
    const int result = wire::host().MPI_Start(request);
    if (result == MPI_SUCCESS && wire::Channel::process().is_open()) serve(incoming, *request, std::nullopt);
    return result;
  }
  // The host MPI cannot give a matched message to a persistent request: a receive of our own takes it.
  MPI_Request own = MPI_REQUEST_NULL;
  p2p::Call call(*again.form);
  side.put_into(&call);
  const int result = again.form->take(call, &posting.claim->message, &own);
  if (result != MPI_SUCCESS) return result;
  serve(incoming, own, posting.claim->envelope);
  return MPI_SUCCESS;
}

Status Incoming::finish(MPI_Status *status) {
  const statistics::Stopwatch watch;
  if (is_persistent() && request_ != MPI_REQUEST_NULL) {
    // It may not have been the host MPI that was asked to complete this (completes_without_host): now it is inactive
    // there too.
    MPI_Request request = request_;
    const int code = wire::host().MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return wire::host_failure(code, "complete a persistent receive");
  }
  Status recalled = recall(status);
  if (pull_ != nullptr) {
    statistics::record(operation_, side.kind(), pull_->route(), 1, pull_->received_bytes(), watch.elapsed());
    return recalled;
  }
  if (!is_completed_) {  // the engine has not looked after this one, or was told of an error
    side.end_received(operation_, *status);
    if (outcome_.is_ok()) outcome_ = side.copy_up(operation_, wire::received_bytes(*status), status);
    completed_ = *status;
    is_completed_ = true;
  }
  if (statistics::is_enabled()) side.record(operation_, wire::received_bytes(*status), watch.elapsed());
  return outcome_;
}

Status Incoming::recall(MPI_Status *status) {
  if (is_completed_) copy_status(completed_, status);
  if (envelope_.has_value()) {
    status->MPI_SOURCE = envelope_->source;
    status->MPI_TAG = envelope_->tag;
  }
  if (pull_ == nullptr) return outcome_;
  wire::set_received_bytes(status, pull_->received_bytes());
  return pull_->outcome();
}

namespace {
// Any probe anywhere in the process: until then no receive pays more than this load.
std::atomic<bool> is_any_probed{false};
}  // namespace

void note_probe() noexcept {
  is_any_probed.store(true, std::memory_order_release);
}

bool has_claims(MPI_Comm comm) {
  if (!is_any_probed.load(std::memory_order_acquire)) return false;
  const CommStatePtr state = state_of(comm);
  return state != nullptr && state->part<Claims>().was_probed();
}

void Incoming::tell(waiting::Wait *wait) const noexcept {
  side.tell(operation_, waiting::Direction::kReceives, wait);
  tell_peer_at_once(communicator(), side.source(), again.tag, wait);
}

bool may_block(MPI_Comm comm) {
  return !progress::Engine::process().is_busy() && !has_claims(comm);
}

Posting look_at_claims(MPI_Comm comm, int source, int tag) {
  if (!is_any_probed.load(std::memory_order_acquire)) return {};
  Posting posting;
  posting.state = state_of(comm);
  if (posting.state == nullptr || !posting.state->part<Claims>().was_probed()) return {};
  posting.lock = posting.state->part<Claims>().lock();
  posting.claim = posting.state->part<Claims>().take(source, tag);
  return posting;
}

int finish_receive(Operation operation, MPI_Comm comm, Side *side, MPI_Status *status, int result,
                   std::chrono::nanoseconds time) {
  progress::TrackedRequests::process().reap_what_came();
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t came_bytes = wire::received_bytes(*status);
  const bool knows_sender = side->may_meet_descriptor() && comm != MPI_COMM_WORLD;
  const CommStatePtr state = knows_sender ? recent_state_of(comm) : nullptr;
  const int sender = find_sender(operation, comm, state.get(), *status);
  Descriptor descriptor;
  Status flawed;
  const Arrival arrival = side->read_arrival(came_bytes, sender, &descriptor, &flawed);
  if (arrival == Arrival::kFlawed) {
    side->abandon_wire();
    wire::set_received_bytes(status, 0);
    return raise(comm, flawed);
  }
  if (arrival == Arrival::kPlain) {
    side->end_received(operation, *status);
    Permissions::note_plain(*side, sender);
    const Status copied = side->copy_up(operation, came_bytes, status);
    if (statistics::is_enabled()) side->record(operation, wire::received_bytes(*status), time);
    return copied.is_ok() ? MPI_SUCCESS : raise(comm, copied);
  }
  const statistics::Stopwatch watch;
  const auto pull = make_recycled<Pull>(descriptor, side->landing(), operation, status->MPI_SOURCE, status->MPI_TAG);
  progress::Engine::process().watch(pull);
  progress::turn_until([&] { return pull->is_settled(); });
  side->leave_room_described(pull->received_bytes());
  side->release_head();
  wire::set_received_bytes(status, pull->received_bytes());
  statistics::record(operation, side->kind(), pull->route(), 1, pull->received_bytes(), time + watch.elapsed());
  return pull->outcome().is_ok() ? MPI_SUCCESS : raise(comm, pull->outcome());
}

}  // namespace sluice::ops
