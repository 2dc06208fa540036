// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of queues: MPIX_Enqueue_allreduce, MPIX_Enqueue_bcast, MPIX_Enqueue_allgather,
// MPIX_Enqueue_barrier.
#pragma once

#include "ops/queue/carrier.hpp"

namespace sluice::ops::queue {

// What the program says of one. What an operation does not have stays as it is here.
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

// What can be told before the host MPI is asked, which is when the stream comes to the start. `request`: where the
// program's is to be put.
[[nodiscard]] Status check_collective(const CollectiveArguments &given, const MPI_Request *request);

// As the program's own non-blocking call would: MPI_Iallreduce, MPI_Ibcast, MPI_Iallgather, MPI_Ibarrier of Sluice's.
// Datatypes of the program's are held; an operation of the program's is its to keep. Errors: the host MPI refuses.
[[nodiscard]] Status make_collective_carrier(const CollectiveArguments &given, CarrierPtr *carrier);

}  // namespace sluice::ops::queue
