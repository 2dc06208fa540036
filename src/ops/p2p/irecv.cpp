// SPDX-License-Identifier: BSD-3-Clause
// MPI_Irecv, MPI_Imrecv and their large-count forms.
#include "base/recycled.hpp"
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/incoming.hpp"
#include "ops/p2p/post_receive.hpp"

namespace sluice::ops {
namespace {

// The execute and complete of both: `start` calls the host MPI with the buffer, count and type it is given.
template <typename Count, typename Start>
int start_receive(Operation operation, MPI_Comm comm, std::shared_ptr<Incoming> incoming, MPI_Request *request,
                  Start start) {
  std::optional<Envelope> envelope;
  Side &target = incoming->side;
  if (!target.is_staged() && !target.may_meet_descriptor()) {
    const int result = start(target.buffer(), target.count<Count>(), target.type(), &envelope);
    if (result == MPI_SUCCESS) target.record(operation);
    return result;
  }
  if (target.is_staged()) {
    if (Status status = target.open_to_receive<Count>(); !status.is_ok()) return raise(comm, status);
  }
  target.begin_wire();
  const int result = start(target.buffer(), target.count<Count>(), target.type(), &envelope);
  if (result != MPI_SUCCESS) return result;
  if (target.may_meet_descriptor()) incoming->serve(incoming, *request, envelope);
  progress::TrackedRequests::process().add(*request, std::move(incoming));
  return MPI_SUCCESS;
}

template <typename Count>
int irecv_through(IrecvFunction<Count> function, ImrecvFunction<Count> matched, void *buf, Count count,
                  MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, source, tag, comm, request);
  return guarded(comm, [&]() -> int {
    auto incoming = make_recycled<Incoming>(Operation::kIrecv, comm, false);  // almost every receive is kept
    Status status = Buffer::to_receive(buf, count, datatype, source, &incoming->side);
    if (!status.is_ok()) return raise(comm, status);
    return start_receive<Count>(Operation::kIrecv, comm, std::move(incoming), request,
                                [&](void *buffer, Count n, MPI_Datatype type, std::optional<Envelope> *envelope) {
                                  return post_receive<Count>(function, matched, buffer, n, type, source, tag, comm,
                                                             request, envelope);
                                });
  });
}

template <typename Count>
int imrecv_through(ImrecvFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, MPI_Message *message,
                   MPI_Request *request) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, message, request);
  // A matched message no longer names its communicator; errors go where MPI sends those without one.
  const MPI_Comm comm = MPI_COMM_SELF;
  return guarded(comm, [&]() -> int {
    auto incoming = make_recycled<Incoming>(Operation::kImrecv, comm, false);
    Status status = Buffer::to_receive_matched(buf, count, datatype, *message, &incoming->side);
    if (!status.is_ok()) return raise(comm, status);
    return start_receive<Count>(Operation::kImrecv, comm, std::move(incoming), request,
                                [&](void *buffer, Count n, MPI_Datatype type, std::optional<Envelope> *envelope) {
                                  *envelope = take_envelope(*message);
                                  return (wire::host().*function)(buffer, n, type, message, request);
                                });
  });
}

}  // namespace

int irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request) {
  return irecv_through(&wire::Host::MPI_Irecv, &wire::Host::MPI_Imrecv, buf, count, datatype, source, tag, comm,
                       request);
}

int imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
  return imrecv_through(&wire::Host::MPI_Imrecv, buf, count, datatype, message, request);
}

int irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
            MPI_Request *request) {
  return irecv_through(&wire::Host::MPI_Irecv_c, &wire::Host::MPI_Imrecv_c, buf, count, datatype, source, tag, comm,
                       request);
}

int imrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
  return imrecv_through(&wire::Host::MPI_Imrecv_c, buf, count, datatype, message, request);
}

}  // namespace sluice::ops
