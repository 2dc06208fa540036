// SPDX-License-Identifier: BSD-3-Clause
// MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/side.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using SendFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, MPI_Comm);

template <typename Count>
int send_through(Operation operation, SendFunction<Count> function, const void *buf, Count count, MPI_Datatype datatype,
                 int dest, int tag, MPI_Comm comm) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, dest, tag, comm);
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify and plan
    Side side;
    if (Status status = Side::of_outgoing(buf, count, datatype, dest, &side); !status.is_ok())
      return raise(comm, status);
    // execute
    if (side.is_staged()) {
      if (Status status = side.open_and_copy_down<Count>(); !status.is_ok()) return raise(comm, status);
    }
    const int result = (wire::host().*function)(side.buffer(), side.count<Count>(), side.type(), dest, tag, comm);
    // complete: a blocking send leaves the staging memory free, in buffered mode too
    if (result == MPI_SUCCESS) side.record(operation, side.size_bytes(), watch.elapsed());
    return result;
  });
}

}  // namespace

int send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kSend, &wire::Host::MPI_Send, buf, count, datatype, dest, tag, comm);
}

int send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kSend, &wire::Host::MPI_Send_c, buf, count, datatype, dest, tag, comm);
}

int bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kBsend, &wire::Host::MPI_Bsend, buf, count, datatype, dest, tag, comm);
}

int bsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kBsend, &wire::Host::MPI_Bsend_c, buf, count, datatype, dest, tag, comm);
}

int ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kSsend, &wire::Host::MPI_Ssend, buf, count, datatype, dest, tag, comm);
}

int ssend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kSsend, &wire::Host::MPI_Ssend_c, buf, count, datatype, dest, tag, comm);
}

int rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kRsend, &wire::Host::MPI_Rsend, buf, count, datatype, dest, tag, comm);
}

int rsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_through(Operation::kRsend, &wire::Host::MPI_Rsend_c, buf, count, datatype, dest, tag, comm);
}

}  // namespace sluice::ops
