// SPDX-License-Identifier: BSD-3-Clause
// MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/outgoing.hpp"
#include "ops/p2p/side.hpp"
#include "ops/request/turns.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using SendFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, MPI_Comm);

template <typename Count>
using IsendFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

// A send and the non-blocking form that stands in for it where this process must not block. A buffered send never
// blocks and has none; neither may it wait for a receiver, so that its messages are always plain.
template <typename Count>
struct SendForms {
  Operation operation;
  SendFunction<Count> blocking;
  IsendFunction<Count> nonblocking;  // null: buffered
};

// Sends the descriptor and waits for the receiver.
int run(Outgoing *outgoing) {
  const int result = outgoing->start(false);
  if (result != MPI_SUCCESS) return result;
  MPI_Status status;
  return complete_in_turns(outgoing, outgoing->request(), &status);
}

template <typename Count>
int send_through(const SendForms<Count> &forms, const void *buf, Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm) {
  const wire::Host &host = wire::host();
  if (is_plain_host_traffic()) return (host.*forms.blocking)(buf, count, datatype, dest, tag, comm);
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan
    Buffer buffer;
    const bool is_buffered = forms.nonblocking == nullptr;
    const MPI_Comm reached = is_buffered ? MPI_COMM_NULL : comm;
    const bool is_standard = forms.operation == Operation::kSend;
    Status status = Buffer::to_send(buf, count, datatype, dest, reached, &buffer,
                                    is_standard ? Buffer::Sending::kStandardBlocking : Buffer::Sending::kOnce);
    if (!status.is_ok()) return raise(comm, status);
    // execute
    const auto outgoing = Outgoing::make(forms.operation, false, &buffer, dest, tag, comm, &status);
    if (outgoing != nullptr) return run(outgoing.get());
    Side side(std::move(buffer));
    side.name_message(forms.operation, dest, tag);
    if (status.is_ok() && side.is_staged()) status = side.open_and_copy_down<Count>();
    if (!status.is_ok()) return raise(comm, status);
    int result = MPI_SUCCESS;
    side.begin_wire();
    if (is_buffered || !progress::Engine::process().is_busy()) {
      result = (host.*forms.blocking)(side.buffer(), side.count<Count>(), side.type(), dest, tag, comm);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      result = (host.*forms.nonblocking)(side.buffer(), side.count<Count>(), side.type(), dest, tag, comm, &request);
      if (result == MPI_SUCCESS) result = wait_in_turns(&request, MPI_STATUS_IGNORE);
    }
    // complete: a blocking send leaves the staging memory free, in buffered mode too
    if (result == MPI_SUCCESS) {
      side.end_sent();
      side.record(forms.operation, side.size_bytes(), watch.elapsed());
    }
    return result;
  });
}

}  // namespace

int send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<int>({Operation::kSend, &wire::Host::MPI_Send, &wire::Host::MPI_Isend}, buf, count, datatype,
                           dest, tag, comm);
}

int send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<MPI_Count>({Operation::kSend, &wire::Host::MPI_Send_c, &wire::Host::MPI_Isend_c}, buf, count,
                                 datatype, dest, tag, comm);
}

int bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<int>({Operation::kBsend, &wire::Host::MPI_Bsend, nullptr}, buf, count, datatype, dest, tag, comm);
}

int bsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<MPI_Count>({Operation::kBsend, &wire::Host::MPI_Bsend_c, nullptr}, buf, count, datatype, dest,
                                 tag, comm);
}

int ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<int>({Operation::kSsend, &wire::Host::MPI_Ssend, &wire::Host::MPI_Issend}, buf, count, datatype,
                           dest, tag, comm);
}

int ssend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<MPI_Count>({Operation::kSsend, &wire::Host::MPI_Ssend_c, &wire::Host::MPI_Issend_c}, buf, count,
                                 datatype, dest, tag, comm);
}

int rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<int>({Operation::kRsend, &wire::Host::MPI_Rsend, &wire::Host::MPI_Irsend}, buf, count, datatype,
                           dest, tag, comm);
}

int rsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through<MPI_Count>({Operation::kRsend, &wire::Host::MPI_Rsend_c, &wire::Host::MPI_Irsend_c}, buf, count,
                                 datatype, dest, tag, comm);
}

}  // namespace sluice::ops
