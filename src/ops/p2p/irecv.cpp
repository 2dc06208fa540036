// SPDX-License-Identifier: BSD-3-Clause
// MPI_Irecv, MPI_Imrecv and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/staged_request.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using IrecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
template <typename Count>
using ImrecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, MPI_Message *, MPI_Request *);

// The execute and complete of both: `start` calls the host MPI with the buffer, count and type it is given.
template <typename Count, typename Start>
int start_receive(Operation operation, MPI_Comm comm, Side side, MPI_Request *request, Start start) {
  if (!side.is_staged()) {
    const int result = start(side.buffer(), side.count<Count>(), side.type());
    if (result == MPI_SUCCESS) side.record(operation, side.size_bytes(), {});
    return result;
  }
  auto staged = std::make_shared<StagedRequest>(operation, comm, false);
  staged->recv_side = std::move(side);
  if (Status status = staged->open<Count>(); !status.is_ok()) return raise(comm, status);
  const Side &recv_side = staged->recv_side;
  const int result = start(recv_side.buffer(), recv_side.count<Count>(), recv_side.type());
  return track(std::move(staged), request, result);
}

template <typename Count>
int irecv_through(IrecvFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, source, tag, comm, request);
  return guarded(comm, [&]() -> int {
    Side side;
    if (Status status = Side::of(buf, count, datatype, source, &side); !status.is_ok()) return raise(comm, status);
    return start_receive<Count>(Operation::kIrecv, comm, std::move(side), request,
                                [&](void *buffer, Count n, MPI_Datatype type) {
                                  return (wire::host().*function)(buffer, n, type, source, tag, comm, request);
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
    Side side;
    if (Status status = Side::of_matched(buf, count, datatype, *message, &side); !status.is_ok()) {
      return raise(comm, status);
    }
    return start_receive<Count>(Operation::kImrecv, comm, std::move(side), request,
                                [&](void *buffer, Count n, MPI_Datatype type) {
                                  return (wire::host().*function)(buffer, n, type, message, request);
                                });
  });
}

}  // namespace

int irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request) {
  return irecv_through(&wire::Host::MPI_Irecv, buf, count, datatype, source, tag, comm, request);
}

int imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
  return imrecv_through(&wire::Host::MPI_Imrecv, buf, count, datatype, message, request);
}

int irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
            MPI_Request *request) {
  return irecv_through(&wire::Host::MPI_Irecv_c, buf, count, datatype, source, tag, comm, request);
}

int imrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
  return imrecv_through(&wire::Host::MPI_Imrecv_c, buf, count, datatype, message, request);
}

}  // namespace sluice::ops
