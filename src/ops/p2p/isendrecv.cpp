// SPDX-License-Identifier: BSD-3-Clause
// MPI_Isendrecv, MPI_Isendrecv_replace and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/staged_request.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using IsendrecvFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, void *, Count, MPI_Datatype,
                                               int, int, MPI_Comm, MPI_Request *);
template <typename Count>
using IreplaceFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request *);

template <typename Count>
int isendrecv_through(IsendrecvFunction<Count> function, const void *sendbuf, Count sendcount, MPI_Datatype sendtype,
                      int dest, int sendtag, void *recvbuf, Count recvcount, MPI_Datatype recvtype, int source,
                      int recvtag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) {
    return (wire::host().*function)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                                    recvtag, comm, request);
  }
  return guarded(comm, [&]() -> int {
    // classify and plan
    auto staged = std::make_shared<StagedRequest>(Operation::kIsendrecv, comm, false);
    staged->is_length_unknown = true;
    Status ready = Side::of_outgoing(sendbuf, sendcount, sendtype, dest, &staged->send_side);
    if (ready.is_ok()) ready = Side::of(recvbuf, recvcount, recvtype, source, &staged->recv_side);
    // execute
    if (ready.is_ok()) ready = staged->open<Count>();
    if (ready.is_ok()) ready = staged->prepare();
    if (!ready.is_ok()) return raise(comm, ready);
    const Side &send_side = staged->send_side;
    const Side &recv_side = staged->recv_side;
    const int result = (wire::host().*function)(send_side.buffer(), send_side.count<Count>(), send_side.type(), dest,
                                                sendtag, recv_side.buffer(), recv_side.count<Count>(), recv_side.type(),
                                                source, recvtag, comm, request);
    // complete: when the program completes the request
    return track(std::move(staged), request, result);
  });
}

template <typename Count>
int ireplace_through(IreplaceFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, int dest,
                     int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) {
    return (wire::host().*function)(buf, count, datatype, dest, sendtag, source, recvtag, comm, request);
  }
  return guarded(comm, [&]() -> int {
    // classify and plan; one buffer for both directions, so nothing is staged only if both peers are MPI_PROC_NULL
    auto staged = std::make_shared<StagedRequest>(Operation::kIsendrecvReplace, comm, false);
    staged->is_replacing = true;
    staged->is_length_unknown = true;
    const int peer = dest == MPI_PROC_NULL ? source : dest;
    Status ready = Side::of(buf, count, datatype, peer, &staged->recv_side);
    // execute
    if (ready.is_ok()) ready = staged->open<Count>();
    if (ready.is_ok()) ready = staged->prepare();
    if (!ready.is_ok()) return raise(comm, ready);
    const Side &side = staged->recv_side;
    const int result = (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), dest, sendtag, source,
                                                recvtag, comm, request);
    // complete: when the program completes the request
    return track(std::move(staged), request, result);
  });
}

}  // namespace

int isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
              int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request) {
  return isendrecv_through(&wire::Host::MPI_Isendrecv, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                           recvtype, source, recvtag, comm, request);
}

int isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                      MPI_Comm comm, MPI_Request *request) {
  return ireplace_through(&wire::Host::MPI_Isendrecv_replace, buf, count, datatype, dest, sendtag, source, recvtag,
                          comm, request);
}

int isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                MPI_Request *request) {
  return isendrecv_through(&wire::Host::MPI_Isendrecv_c, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                           recvcount, recvtype, source, recvtag, comm, request);
}

int isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                        int recvtag, MPI_Comm comm, MPI_Request *request) {
  return ireplace_through(&wire::Host::MPI_Isendrecv_replace_c, buf, count, datatype, dest, sendtag, source, recvtag,
                          comm, request);
}

}  // namespace sluice::ops
