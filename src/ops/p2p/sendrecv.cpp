// SPDX-License-Identifier: BSD-3-Clause
// MPI_Sendrecv, MPI_Sendrecv_replace and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/exchange.hpp"
#include "ops/p2p/incoming.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using SendrecvFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, void *, Count, MPI_Datatype,
                                              int, int, MPI_Comm, MPI_Status *);
template <typename Count>
using ReplaceFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status *);

template <typename Count>
int sendrecv_through(SendrecvFunction<Count> function, const void *sendbuf, Count sendcount, MPI_Datatype sendtype,
                     int dest, int sendtag, void *recvbuf, Count recvcount, MPI_Datatype recvtype, int source,
                     int recvtag, MPI_Comm comm, MPI_Status *status) {
  if (is_plain_host_traffic()) {
    return (wire::host().*function)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                                    recvtag, comm, status);
  }
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan
    Buffer sent;
    Side recv_side;
    Status ready = Buffer::to_send(sendbuf, sendcount, sendtype, dest, comm, &sent);
    if (ready.is_ok()) ready = Buffer::to_receive(recvbuf, recvcount, recvtype, source, &recv_side);
    if (!ready.is_ok()) return raise(comm, ready);
    MPI_Status own{};
    MPI_Status *received = status == MPI_STATUS_IGNORE ? &own : status;
    wire::clear(received);
    // execute
    if (sent.is_described() || !may_block(comm)) {
      Exchange exchange(Operation::kSendrecv, comm);
      exchange.sent = std::move(sent);
      exchange.recv_side = std::move(recv_side);
      return exchange.run<Count>({dest, sendtag}, {source, recvtag}, received);
    }
    Side send_side(std::move(sent));
    send_side.name_message(Operation::kSendrecv, dest, sendtag);
    if (send_side.is_staged()) ready = send_side.open_and_copy_down<Count>();
    if (ready.is_ok() && recv_side.is_staged()) ready = recv_side.open_to_receive<Count>();
    if (!ready.is_ok()) return raise(comm, ready);
    send_side.begin_wire();
    recv_side.begin_wire();
    const int result = (wire::host().*function)(send_side.buffer(), send_side.count<Count>(), send_side.type(), dest,
                                                sendtag, recv_side.buffer(), recv_side.count<Count>(), recv_side.type(),
                                                source, recvtag, comm, received);
    // complete
    if (result == MPI_SUCCESS) {
      send_side.end_sent();
      send_side.record(Operation::kSendrecv);
    }
    return finish_receive(Operation::kSendrecv, comm, &recv_side, received, result, watch.elapsed());
  });
}

template <typename Count>
int replace_through(ReplaceFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, int dest,
                    int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  if (is_plain_host_traffic()) {
    return (wire::host().*function)(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
  }
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan; one buffer for both directions, so nothing is staged only if both peers are MPI_PROC_NULL
    Side side;
    const int peer = dest == MPI_PROC_NULL ? source : dest;
    if (Status ready = Buffer::to_receive(buf, count, datatype, peer, &side); !ready.is_ok()) return raise(comm, ready);
    MPI_Status own{};
    MPI_Status *received = status == MPI_STATUS_IGNORE ? &own : status;
    wire::clear(received);
    // execute
    if (side.is_short() || (!may_block(comm) && side.size_bytes() > 0)) {
      Exchange exchange(Operation::kSendrecvReplace, comm);
      exchange.recv_side = std::move(side);
      return exchange.run_replacing<Count>({dest, sendtag}, {source, recvtag}, received);
    }
    if (side.is_staged()) {
      side.name_message(Operation::kSendrecvReplace, dest, sendtag);
      if (Status ready = side.open_and_copy_down<Count>(); !ready.is_ok()) return raise(comm, ready);
    }
    side.stay(false);
    side.begin_wire();
    const int result = (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), dest, sendtag, source,
                                                recvtag, comm, received);
    // complete
    return finish_receive(Operation::kSendrecvReplace, comm, &side, received, result, watch.elapsed());
  });
}

}  // namespace

int sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
             int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  return sendrecv_through(&wire::Host::MPI_Sendrecv, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                          recvtype, source, recvtag, comm, status);
}

int sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                     MPI_Comm comm, MPI_Status *status) {
  return replace_through(&wire::Host::MPI_Sendrecv_replace, buf, count, datatype, dest, sendtag, source, recvtag, comm,
                         status);
}

int sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
               MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  return sendrecv_through(&wire::Host::MPI_Sendrecv_c, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                          recvtype, source, recvtag, comm, status);
}

int sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                       int recvtag, MPI_Comm comm, MPI_Status *status) {
  return replace_through(&wire::Host::MPI_Sendrecv_replace_c, buf, count, datatype, dest, sendtag, source, recvtag,
                         comm, status);
}

}  // namespace sluice::ops
