// SPDX-License-Identifier: BSD-3-Clause
// MPI_Probe, MPI_Iprobe, MPI_Mprobe, MPI_Improbe: tell the true size of a message that travels as a descriptor.
#include "base/waiting.hpp"
#include "generated/operations.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/comm/peer_words.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/incoming.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

// Looks once. `message`: null for a probe that leaves the message where it is.
int look(CommState *state, int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  Claims &claims = state->part<Claims>();
  const auto lock = claims.lock();
  note_probe();
  const Claim *found = claims.find(source, tag);
  if (found == nullptr) {
    Status problem;
    const int result = claims.probe(comm, source, tag, flag, status, &problem);
    if (!problem.is_ok()) return raise(comm, problem);
    if (result != MPI_SUCCESS || *flag == 0) return result;
    found = claims.find(status->MPI_SOURCE, status->MPI_TAG);
  }
  if (found == nullptr) {
    // A plain message, with the host MPI. Another thread's receive may be quicker: then there is nothing yet.
    if (message == nullptr) return MPI_SUCCESS;
    const int result = wire::host().MPI_Improbe(status->MPI_SOURCE, status->MPI_TAG, comm, flag, message, status);
    if (result != MPI_SUCCESS || *flag == 0 || wire::announced_bytes(*status) != kDescriptorBytes) return result;
    // One that another thread's receive has made the next: its own receive is to know who sent it.
    int sender = -1;
    [[maybe_unused]] const plan::Peer kind = peer_of(comm, status->MPI_SOURCE, &sender);
    remember_envelope(*message, {status->MPI_SOURCE, status->MPI_TAG, kDescriptorBytes, sender});
    return result;
  }
  *flag = 1;
  set_envelope(found->envelope, status);
  if (message == nullptr) return MPI_SUCCESS;
  const Claim claim = *found;
  claims.take(claim.envelope.source, claim.envelope.tag);  // it is the oldest that matches its own envelope
  if (claim.is_copy) remember_envelope(claim.message, claim.envelope);
  *message = claim.message;
  return MPI_SUCCESS;
}

// The state of a communicator on which descriptors may come; null when the host MPI's own probe will do.
CommStatePtr probed_state(MPI_Comm comm, int source) {
  if (!wire::Channel::process().is_open() || source == MPI_PROC_NULL) return nullptr;
  return state_of(comm);
}

// For the table of waits.
struct Probed {
  int source;
  int tag;
  MPI_Comm comm;
  bool takes;
};
void tell_probe(const void *subject, waiting::Wait *wait) noexcept {
  const auto *probed = static_cast<const Probed *>(subject);
  waiting::put(probed->takes ? "MPI_Mprobe" : "MPI_Probe", &wait->function);
  wait->direction = waiting::Direction::kReceives;
  tell_peer(probed->comm, probed->source, probed->tag, wait);
}

// The blocking forms: in turns, because a peer may need something of this process before it sends.
int look_until_found(CommState *state, int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  MPI_Status own;
  MPI_Status *found = status == MPI_STATUS_IGNORE ? &own : status;
  const Probed probed{source, tag, comm, message != nullptr};
  const waiting::Described described(&tell_probe, &probed);
  int result = MPI_SUCCESS;
  progress::turn_until([&] {
    int flag = 0;
    result = look(state, source, tag, comm, &flag, message, found);
    return result != MPI_SUCCESS || flag != 0;
  });
  return result;
}

int look_once(CommState *state, int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
              MPI_Status *status) {
  MPI_Status own;
  progress::Engine::process().turn();
  return look(state, source, tag, comm, flag, message, status == MPI_STATUS_IGNORE ? &own : status);
}

}  // namespace

int probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  return guarded(comm, [&]() -> int {
    const CommStatePtr state = probed_state(comm, source);
    if (state == nullptr) return wire::host().MPI_Probe(source, tag, comm, status);
    return look_until_found(state.get(), source, tag, comm, nullptr, status);
  });
}

int iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  return guarded(comm, [&]() -> int {
    const CommStatePtr state = probed_state(comm, source);
    if (state == nullptr) return wire::host().MPI_Iprobe(source, tag, comm, flag, status);
    return look_once(state.get(), source, tag, comm, flag, nullptr, status);
  });
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  return guarded(comm, [&]() -> int {
    const CommStatePtr state = probed_state(comm, source);
    if (state == nullptr) return wire::host().MPI_Mprobe(source, tag, comm, message, status);
    return look_until_found(state.get(), source, tag, comm, message, status);
  });
}

int improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  return guarded(comm, [&]() -> int {
    const CommStatePtr state = probed_state(comm, source);
    if (state == nullptr) return wire::host().MPI_Improbe(source, tag, comm, flag, message, status);
    return look_once(state.get(), source, tag, comm, flag, message, status);
  });
}

}  // namespace sluice::ops
