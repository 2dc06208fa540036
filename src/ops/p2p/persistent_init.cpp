// SPDX-License-Identifier: BSD-3-Clause
// MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Recv_init and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/incoming.hpp"
#include "ops/p2p/outgoing.hpp"
#include "ops/p2p/staged_request.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using SendInitFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
template <typename Count>
using RecvInitFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

// The staging memory is taken here, once, and held until the request is freed; MPI_Start copies.
template <typename Count>
int send_init_through(Operation operation, SendInitFunction<Count> function, const void *buf, Count count,
                      MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, dest, tag, comm, request);
  return guarded(comm, [&]() -> int {
    // A buffered send may not wait for its receiver: its messages are always plain.
    const MPI_Comm reached = operation == Operation::kBsendInit ? MPI_COMM_NULL : comm;
    Buffer buffer;
    Status ready = Buffer::to_send(buf, count, datatype, dest, reached, &buffer, Buffer::Sending::kPersistent);
    if (!ready.is_ok()) return raise(comm, ready);
    if (buffer.is_described()) {
      // The host MPI is shown the program's arguments once: they are its to refuse, here and not at the first start.
      MPI_Request shown = MPI_REQUEST_NULL;
      const int result = (wire::host().*function)(buf, 0, datatype, dest, tag, comm, &shown);
      // The MPI-5 ABI of MPICH 5 returns success after it has called the error handler.
      if (result != MPI_SUCCESS || shown == MPI_REQUEST_NULL) return result;
      if (wire::host().MPI_Request_free(&shown) != MPI_SUCCESS) {
        return raise(comm, Status::error(ErrorKind::kBackend, "the host MPI could not free a persistent request"));
      }
    }
    if (const auto outgoing = Outgoing::make(operation, true, &buffer, dest, tag, comm, &ready)) {
      *request = *outgoing->request();
      progress::TrackedRequests::process().add(*request, outgoing);
      return MPI_SUCCESS;
    }
    auto staged = std::make_shared<StagedRequest>(operation, comm, true);
    staged->send_side = Side(std::move(buffer));
    staged->send_side.name_message(operation, dest, tag);
    if (ready.is_ok()) ready = staged->open<Count>();
    if (!ready.is_ok()) return raise(comm, ready);
    const Side &side = staged->send_side;
    const int result =
        (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), dest, tag, comm, request);
    return track(std::move(staged), request, result);
  });
}

template <typename Count>
int recv_init_through(RecvInitFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, source, tag, comm, request);
  return guarded(comm, [&]() -> int {
    auto incoming = std::make_shared<Incoming>(Operation::kRecvInit, comm, true);
    incoming->source = source;
    incoming->tag = tag;
    incoming->has_large_count = sizeof(Count) > sizeof(int);
    Side &side = incoming->side;
    Status ready = Buffer::to_receive(buf, count, datatype, source, &side);
    if (ready.is_ok() && side.is_staged()) ready = side.open_to_receive<Count>();
    if (!ready.is_ok()) return raise(comm, ready);
    side.stay(true);
    const int result =
        (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), source, tag, comm, request);
    if (result == MPI_SUCCESS && (side.is_staged() || side.may_meet_descriptor())) {
      progress::TrackedRequests::process().add(*request, std::move(incoming));
    }
    return result;
  });
}

}  // namespace

int send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request) {
  return send_init_through(Operation::kSendInit, &wire::Host::MPI_Send_init, buf, count, datatype, dest, tag, comm,
                           request);
}

int send_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request *request) {
  return send_init_through(Operation::kSendInit, &wire::Host::MPI_Send_init_c, buf, count, datatype, dest, tag, comm,
                           request);
}

int bsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request) {
  return send_init_through(Operation::kBsendInit, &wire::Host::MPI_Bsend_init, buf, count, datatype, dest, tag, comm,
                           request);
}

int bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request) {
  return send_init_through(Operation::kBsendInit, &wire::Host::MPI_Bsend_init_c, buf, count, datatype, dest, tag, comm,
                           request);
}

int ssend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request) {
  return send_init_through(Operation::kSsendInit, &wire::Host::MPI_Ssend_init, buf, count, datatype, dest, tag, comm,
                           request);
}

int ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request) {
  return send_init_through(Operation::kSsendInit, &wire::Host::MPI_Ssend_init_c, buf, count, datatype, dest, tag, comm,
                           request);
}

int rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request) {
  return send_init_through(Operation::kRsendInit, &wire::Host::MPI_Rsend_init, buf, count, datatype, dest, tag, comm,
                           request);
}

int rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request) {
  return send_init_through(Operation::kRsendInit, &wire::Host::MPI_Rsend_init_c, buf, count, datatype, dest, tag, comm,
                           request);
}

int recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request) {
  return recv_init_through(&wire::Host::MPI_Recv_init, buf, count, datatype, source, tag, comm, request);
}

int recv_init_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                MPI_Request *request) {
  return recv_init_through(&wire::Host::MPI_Recv_init_c, buf, count, datatype, source, tag, comm, request);
}

}  // namespace sluice::ops
