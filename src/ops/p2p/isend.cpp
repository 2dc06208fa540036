// SPDX-License-Identifier: BSD-3-Clause
// MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend and their large-count forms.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/outgoing.hpp"
#include "ops/p2p/staged_request.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
using IsendFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

// Sends the descriptor; the program's request is that of the acknowledgement.
int start(const std::shared_ptr<Outgoing> &outgoing, MPI_Request *request) {
  const int result = outgoing->start(false);
  if (result != MPI_SUCCESS) return result;
  *request = *outgoing->request();
  progress::TrackedRequests::process().add(*request, outgoing);
  return MPI_SUCCESS;
}

template <typename Count>
int isend_through(Operation operation, IsendFunction<Count> function, const void *buf, Count count,
                  MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
  if (is_plain_host_traffic()) return (wire::host().*function)(buf, count, datatype, dest, tag, comm, request);
  return guarded(comm, [&]() -> int {
    // classify and plan
    Buffer buffer;
    // A buffered send may not wait for its receiver: its messages are always plain.
    const MPI_Comm reached = operation == Operation::kIbsend ? MPI_COMM_NULL : comm;
    Status status = Buffer::to_send(buf, count, datatype, dest, reached, &buffer);
    if (!status.is_ok()) return raise(comm, status);
    // execute
    const auto outgoing = Outgoing::make(operation, false, &buffer, dest, tag, comm, &status);
    if (outgoing != nullptr) return start(outgoing, request);
    if (!status.is_ok()) return raise(comm, status);
    if (!buffer.is_staged()) {
      const int result = (wire::host().*function)(buf, count, datatype, dest, tag, comm, request);
      if (result == MPI_SUCCESS) buffer.record(operation);
      return result;
    }
    auto staged = std::make_shared<StagedRequest>(operation, comm, false);
    staged->send_side = Side(std::move(buffer));
    staged->send_side.name_message(operation, dest, tag);
    status = staged->open<Count>();
    if (status.is_ok()) status = staged->prepare();
    if (!status.is_ok()) return raise(comm, status);
    const Side &send_side = staged->send_side;
    const int result = (wire::host().*function)(send_side.buffer(), send_side.count<Count>(), send_side.type(), dest,
                                                tag, comm, request);
    // complete: when the program completes the request
    return track(std::move(staged), request, result);
  });
}

}  // namespace

int isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
  return isend_through(Operation::kIsend, &wire::Host::MPI_Isend, buf, count, datatype, dest, tag, comm, request);
}

int isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
            MPI_Request *request) {
  return isend_through(Operation::kIsend, &wire::Host::MPI_Isend_c, buf, count, datatype, dest, tag, comm, request);
}

int ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
  return isend_through(Operation::kIbsend, &wire::Host::MPI_Ibsend, buf, count, datatype, dest, tag, comm, request);
}

int ibsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
             MPI_Request *request) {
  return isend_through(Operation::kIbsend, &wire::Host::MPI_Ibsend_c, buf, count, datatype, dest, tag, comm, request);
}

int issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
  return isend_through(Operation::kIssend, &wire::Host::MPI_Issend, buf, count, datatype, dest, tag, comm, request);
}

int issend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
             MPI_Request *request) {
  return isend_through(Operation::kIssend, &wire::Host::MPI_Issend_c, buf, count, datatype, dest, tag, comm, request);
}

int irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
  return isend_through(Operation::kIrsend, &wire::Host::MPI_Irsend, buf, count, datatype, dest, tag, comm, request);
}

int irsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
             MPI_Request *request) {
  return isend_through(Operation::kIrsend, &wire::Host::MPI_Irsend_c, buf, count, datatype, dest, tag, comm, request);
}

}  // namespace sluice::ops
