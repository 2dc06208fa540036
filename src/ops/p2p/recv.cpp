// SPDX-License-Identifier: BSD-3-Clause
// MPI_Recv, MPI_Mrecv and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/side.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using RecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
template <typename Count>
using MrecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, MPI_Message *, MPI_Status *);

template <typename Count>
int recv_through(RecvFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Status *status) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, source, tag, comm, status);
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan
    Side side;
    if (Status sorted = Side::of(buf, count, datatype, source, &side); !sorted.is_ok()) return raise(comm, sorted);
    // execute
    if (side.is_staged()) {
      if (Status opened = side.open<Count>(); !opened.is_ok()) return raise(comm, opened);
    }
    MPI_Status own;
    MPI_Status *received = status == MPI_STATUS_IGNORE ? &own : status;
    const int result =
        (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), source, tag, comm, received);
    // complete
    return finish_receive(Operation::kRecv, comm, side, *received, result, watch.elapsed());
  });
}

template <typename Count>
int mrecv_through(MrecvFunction<Count> function, void *buf, Count count, MPI_Datatype datatype, MPI_Message *message,
                  MPI_Status *status) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, message, status);
  // A matched message no longer names its communicator; errors go where MPI sends those without one.
  const MPI_Comm comm = MPI_COMM_SELF;
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan
    Side side;
    if (Status sorted = Side::of_matched(buf, count, datatype, *message, &side); !sorted.is_ok()) {
      return raise(comm, sorted);
    }
    // execute
    if (side.is_staged()) {
      if (Status opened = side.open<Count>(); !opened.is_ok()) return raise(comm, opened);
    }
    MPI_Status own;
    MPI_Status *received = status == MPI_STATUS_IGNORE ? &own : status;
    const int result = (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), message, received);
    // complete
    return finish_receive(Operation::kMrecv, comm, side, *received, result, watch.elapsed());
  });
}

}  // namespace

int recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  return recv_through(&wire::Host::MPI_Recv, buf, count, datatype, source, tag, comm, status);
}

int recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  return recv_through(&wire::Host::MPI_Recv_c, buf, count, datatype, source, tag, comm, status);
}

int mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
  return mrecv_through(&wire::Host::MPI_Mrecv, buf, count, datatype, message, status);
}

int mrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
  return mrecv_through(&wire::Host::MPI_Mrecv_c, buf, count, datatype, message, status);
}

}  // namespace sluice::ops
