// SPDX-License-Identifier: BSD-3-Clause
// The receives: MPI_Recv, MPI_Irecv and MPI_Recv_init, those of matched messages, and their large-count forms
// (data/message_forms.txt).
#include "base/recycled.hpp"
#include "base/waiting.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/call.hpp"
#include "ops/p2p/incoming.hpp"
#include "ops/p2p/post_receive.hpp"
#include "ops/request/turns.hpp"
#include "wire/status.hpp"

namespace sluice::ops::p2p {
namespace {

// Execute, the part before the host MPI's call.
Status open(const Call &call, Side *side) {
  if (side->is_staged()) {
    if (Status status = side->open(call.form.has_large_count); !status.is_ok()) return status;
  }
  side->begin_wire();
  return {};
}

// Starts the host MPI's receive; *envelope is that of a claimed message, known already of a matched one.
int post(const Call &call, MPI_Request *request, std::optional<Envelope> *envelope) {
  if (call.matched != nullptr) return call.form.start(call, request);
  return post_receive(
      call.comm, call.peer, call.tag, envelope, [&] { return call.form.start(call, request); },
      [&](MPI_Message *message) { return call.form.take(call, message, request); });
}

}  // namespace

int recv(Call *call) {
  return guarded(call->comm, [call]() -> int {
    // classify and plan
    Side side;
    if (Status status = Buffer::to_receive(*call, call->peer, &side); !status.is_ok()) return raise(call->comm, status);
    // execute
    std::optional<Envelope> envelope;
    if (call->matched != nullptr) envelope = take_envelope(*call->matched);
    const bool blocks = call->matched != nullptr ? !progress::Engine::process().is_busy() && !envelope.has_value()
                                                 : call->peer == MPI_PROC_NULL || may_block(call->comm);
    const statistics::Stopwatch watch;
    MPI_Status own{};
    if (call->status == MPI_STATUS_IGNORE) call->status = &own;
    wire::clear(call->status);
    if (Status status = open(*call, &side); !status.is_ok()) return raise(call->comm, status);
    if (blocks) {
      side.put_into(call);
      const PlainCall plain{call, &side, waiting::Direction::kReceives};
      const int result = [&] {
        const waiting::InHost in_host(side.is_staged(), &tell_plain_call, &plain);
        return call->form.block(*call);
      }();
      return finish_receive(call->form.operation, call->comm, &side, call->status, result, watch.elapsed());
    }
    const auto incoming = make_recycled<Incoming>(call->form.operation, call->comm, false);
    incoming->side = std::move(side);
    incoming->again.tag = call->tag;
    MPI_Request request = MPI_REQUEST_NULL;
    incoming->side.put_into(call);
    const int result = post(*call, &request, &envelope);
    if (result != MPI_SUCCESS) return result;
    if (incoming->side.may_meet_descriptor()) incoming->serve(incoming, request, envelope);
    // complete
    const waiting::Described described(&tell_peer_of_call, call);
    return complete_in_turns(incoming.get(), &request, call->status);
  });
}

int irecv(Call *call) {
  return guarded(call->comm, [call]() -> int {
    // classify and plan
    auto incoming = make_recycled<Incoming>(call->form.operation, call->comm, false);  // almost every receive is kept
    incoming->again.tag = call->tag;
    Side &side = incoming->side;
    if (Status status = Buffer::to_receive(*call, call->peer, &side); !status.is_ok()) return raise(call->comm, status);
    // execute
    if (Status status = open(*call, &side); !status.is_ok()) return raise(call->comm, status);
    side.put_into(call);
    std::optional<Envelope> envelope;
    if (call->matched != nullptr) envelope = take_envelope(*call->matched);
    const int result = post(*call, call->request, &envelope);
    if (result != MPI_SUCCESS) return result;
    // complete: when the program completes the request
    if (!side.is_staged() && !side.may_meet_descriptor()) {
      side.record(call->form.operation);
      return MPI_SUCCESS;
    }
    if (side.may_meet_descriptor()) incoming->serve(incoming, *call->request, envelope);
    progress::TrackedRequests::process().add(*call->request, std::move(incoming));
    return MPI_SUCCESS;
  });
}

int recv_init(Call *call) {
  return guarded(call->comm, [call]() -> int {
    auto incoming = std::make_shared<Incoming>(call->form.operation, call->comm, true);
    incoming->again = {&call->form, call->peer, call->tag};
    Side &side = incoming->side;
    Status ready = Buffer::to_receive(*call, call->peer, &side);
    if (ready.is_ok() && side.is_staged()) ready = side.open(call->form.has_large_count);
    if (!ready.is_ok()) return raise(call->comm, ready);
    side.stay(true);
    side.put_into(call);
    const int result = call->form.start(*call, call->request);
    if (result == MPI_SUCCESS && (side.is_staged() || side.may_meet_descriptor())) {
      progress::TrackedRequests::process().add(*call->request, std::move(incoming));
    }
    return result;
  });
}

}  // namespace sluice::ops::p2p
