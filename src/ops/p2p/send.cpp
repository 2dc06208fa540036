// SPDX-License-Identifier: BSD-3-Clause
// The sends in all modes: MPI_Send, MPI_Isend and MPI_Send_init, and their like (data/message_forms.txt).
#include "base/waiting.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/call.hpp"
#include "ops/p2p/outgoing.hpp"
#include "ops/p2p/staged_request.hpp"
#include "ops/request/turns.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::p2p {
namespace {

// Classifies and plans.
Status plan_send(const Call &call, Buffer::Sending sending, Buffer *buffer) {
  // A buffered send may not wait for its receiver: its messages are always plain.
  const MPI_Comm reached = call.form.mode == Mode::kBuffered ? MPI_COMM_NULL : call.comm;
  return Buffer::to_send(call, reached, buffer, sending);
}

// Takes staging memory for a buffer that the host MPI is not to read itself.
Status stage(const Call &call, Buffer buffer, StagedRequest *staged) {
  staged->send_side = Side(std::move(buffer));
  staged->send_side.name_message(call.form.operation, call.peer, call.tag);
  return staged->open(call.form.has_large_count);
}

// Gives the call to the host MPI, in the way that does not hold up the engine.
int send_plainly(const Call &call, const Side &side) {
  const PlainCall plain{&call, &side, waiting::Direction::kSends};
  if (call.form.start == nullptr || !progress::Engine::process().is_busy()) {
    const waiting::InHost in_host(side.is_staged(), &tell_plain_call, &plain);
    return call.form.block(call);
  }
  const waiting::Described described(&tell_plain_call, &plain);
  return run_in_turns([&call](MPI_Request *request) { return call.form.start(call, request); });
}

// The host MPI is shown the program's arguments once: they are its to refuse, here and not at the first start. True:
// it has taken them. Else *result is what the program gets.
bool accepts(Call call, int *result) {
  MPI_Request shown = MPI_REQUEST_NULL;
  call.count = 0;
  *result = call.form.start(call, &shown);
  // The MPI-5 ABI of MPICH 5 returns success after it has called the error handler.
  if (*result != MPI_SUCCESS || shown == MPI_REQUEST_NULL) return false;
  const int code = wire::host().MPI_Request_free(&shown);
  if (code == MPI_SUCCESS) return true;
  *result = raise(call.comm, wire::host_failure(code, "free a persistent request"));
  return false;
}

}  // namespace

int send(Call *call) {
  return guarded(call->comm, [call]() -> int {
    const statistics::Stopwatch watch;
    const Operation operation = call->form.operation;
    // classify and plan
    Buffer buffer;
    const bool is_standard = call->form.mode == Mode::kStandard;
    Status status =
        plan_send(*call, is_standard ? Buffer::Sending::kStandardBlocking : Buffer::Sending::kOnce, &buffer);
    if (!status.is_ok()) return raise(call->comm, status);
    // execute
    if (const auto outgoing = Outgoing::make(operation, false, &buffer, *call, call->comm, &status)) {
      if (const int result = outgoing->start(false); result != MPI_SUCCESS) return result;
      MPI_Status acknowledged;
      const waiting::Described described(&tell_peer_of_call, call);
      return complete_in_turns(outgoing.get(), outgoing->request(), &acknowledged);
    }
    Side side(std::move(buffer));
    side.name_message(operation, call->peer, call->tag);
    if (status.is_ok() && side.is_staged()) status = side.open_and_copy_down(call->form.has_large_count);
    if (!status.is_ok()) return raise(call->comm, status);
    side.put_into(call);
    side.begin_wire();
    const int result = send_plainly(*call, side);
    // complete: a blocking send leaves the staging memory free, in buffered mode too
    if (result == MPI_SUCCESS) {
      side.end_sent();
      side.record(operation, side.size_bytes(), watch.elapsed());
    }
    return result;
  });
}

int isend(Call *call) {
  return guarded(call->comm, [call]() -> int {
    // classify and plan
    Buffer buffer;
    Status status = plan_send(*call, Buffer::Sending::kOnce, &buffer);
    if (!status.is_ok()) return raise(call->comm, status);
    // execute; the program's request is that of the acknowledgement
    if (const auto outgoing = Outgoing::make(call->form.operation, false, &buffer, *call, call->comm, &status)) {
      if (const int result = outgoing->start(false); result != MPI_SUCCESS) return result;
      *call->request = *outgoing->request();
      progress::TrackedRequests::process().add(*call->request, outgoing);
      return MPI_SUCCESS;
    }
    if (!status.is_ok()) return raise(call->comm, status);
    if (!buffer.is_staged()) {
      const int result = call->form.start(*call, call->request);
      if (result == MPI_SUCCESS) buffer.record(call->form.operation);
      return result;
    }
    auto staged = std::make_shared<StagedRequest>(call->form.operation, call->comm, false);
    status = stage(*call, std::move(buffer), staged.get());
    if (status.is_ok()) status = staged->prepare();
    if (!status.is_ok()) return raise(call->comm, status);
    staged->send_side.put_into(call);
    const int result = call->form.start(*call, call->request);
    // complete: when the program completes the request
    return track(std::move(staged), call->request, result);
  });
}

// The staging memory is taken here, once, and held until the request is freed; MPI_Start copies.
int send_init(Call *call) {
  return guarded(call->comm, [call]() -> int {
    Buffer buffer;
    Status ready = plan_send(*call, Buffer::Sending::kPersistent, &buffer);
    if (!ready.is_ok()) return raise(call->comm, ready);
    int result = MPI_SUCCESS;
    if (buffer.is_described() && !accepts(*call, &result)) return result;
    if (const auto outgoing = Outgoing::make(call->form.operation, true, &buffer, *call, call->comm, &ready)) {
      *call->request = *outgoing->request();
      progress::TrackedRequests::process().add(*call->request, outgoing);
      return MPI_SUCCESS;
    }
    auto staged = std::make_shared<StagedRequest>(call->form.operation, call->comm, true);
    if (ready.is_ok()) ready = stage(*call, std::move(buffer), staged.get());
    if (!ready.is_ok()) return raise(call->comm, ready);
    staged->send_side.put_into(call);
    result = call->form.start(*call, call->request);
    return track(std::move(staged), call->request, result);
  });
}

}  // namespace sluice::ops::p2p
