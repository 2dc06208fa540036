// SPDX-License-Identifier: BSD-3-Clause
// Messages that travel as a request of MPI's does that the progress thread starts: sends and receives by any route of
// Sluice's, collective operations, persistent operations. All of it: any thread.
#pragma once

#include "ops/queue/message.hpp"

namespace sluice::ops::queue {

// Message::test_transfer() of a message that is a request of MPI's.
[[nodiscard]] bool test_request(MPI_Request *request, int *code, MPI_Status *status);

// As the program's own MPI_Isend or MPI_Irecv would: by any route of Sluice's, matched by the host MPI. A datatype of
// the program's is held. Errors: the host MPI refuses.
[[nodiscard]] Status make_plain_message(const Arguments &given, const transfer::Region &region, MessagePtr *message);

// What the program says of a collective operation. What an operation does not have stays as it is here.
struct CollectiveArguments {
  Operation operation = Operation::kEnqueueBarrier;
  const void *send_buf = nullptr;
  int send_count = 0;
  MPI_Datatype send_type = MPI_DATATYPE_NULL;
  void *recv_buf = nullptr;  // of a broadcast, the buffer
  int recv_count = 0;
  MPI_Datatype recv_type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

// As the program's own non-blocking call would: MPI_Iallreduce, MPI_Ibcast, MPI_Iallgather, MPI_Ibarrier of Sluice's.
// Datatypes of the program's are held; an operation of the program's is its to keep. Errors: what can be told before
// the host MPI is asked, which is when the stream comes to the start; a buffer is not for `stream`
// (classify_buffer()); the host MPI refuses.
[[nodiscard]] Status make_collective_message(const CollectiveArguments &given, const device::Stream &stream,
                                             MessagePtr *message);

// As the program's own MPI_Start would; `persistent` stays the program's. Errors are raised on `comm`. Errors:
// `persistent` is MPI_REQUEST_NULL or active.
[[nodiscard]] Status make_persistent_message(MPI_Request persistent, MPI_Comm comm, MessagePtr *message);

}  // namespace sluice::ops::queue
