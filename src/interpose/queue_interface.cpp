// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/queue.h.
#include "ops/queue/queues.hpp"

#define SLUICE_PUBLIC extern "C" __attribute__((visibility("default")))

namespace queue = sluice::ops::queue;

SLUICE_PUBLIC int MPIX_Create_queue(MPI_Comm comm, void *stream, MPIX_Queue *made) {
  return queue::create(true, comm, stream, made);
}

SLUICE_PUBLIC int MPIX_Free_queue(MPIX_Queue freed) {
  return queue::free(freed);
}

SLUICE_PUBLIC int MPIX_Enqueue_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                                    MPIX_Queue given, MPI_Request *request) {
  return queue::enqueue_send(buf, count, datatype, dest, tag, false, MPI_COMM_NULL, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPIX_Queue given,
                                    MPI_Request *request) {
  return queue::enqueue_recv(buf, count, datatype, source, tag, false, MPI_COMM_NULL, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                                         MPI_Op op, MPIX_Queue given, MPI_Request *request) {
  queue::CollectiveArguments arguments;
  arguments.operation = sluice::Operation::kEnqueueAllreduce;
  arguments.send_buf = sendbuf;
  arguments.recv_buf = recvbuf;
  arguments.send_count = arguments.recv_count = count;
  arguments.send_type = arguments.recv_type = datatype;
  arguments.op = op;
  return queue::enqueue_collective(arguments, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPIX_Queue given,
                                     MPI_Request *request) {
  queue::CollectiveArguments arguments;
  arguments.operation = sluice::Operation::kEnqueueBcast;
  arguments.recv_buf = buffer;
  arguments.recv_count = count;
  arguments.recv_type = datatype;
  arguments.root = root;
  return queue::enqueue_collective(arguments, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                         int recvcount, MPI_Datatype recvtype, MPIX_Queue given, MPI_Request *request) {
  queue::CollectiveArguments arguments;
  arguments.operation = sluice::Operation::kEnqueueAllgather;
  arguments.send_buf = sendbuf;
  arguments.send_count = sendbuf != MPI_IN_PLACE ? sendcount : 0;
  arguments.send_type = sendbuf != MPI_IN_PLACE ? sendtype : MPI_DATATYPE_NULL;
  arguments.recv_buf = recvbuf;
  arguments.recv_count = recvcount;
  arguments.recv_type = recvtype;
  return queue::enqueue_collective(arguments, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_barrier(MPIX_Queue given, MPI_Request *request) {
  return queue::enqueue_collective({}, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                   int target_rank, MPI_Aint target_disp, int target_count,
                                   MPI_Datatype target_datatype, MPI_Win win, MPIX_Queue given, MPI_Request *request) {
  sluice::ops::rma::Call call;
  call.operation = sluice::Operation::kEnqueuePut;
  call.origin.set_buffer(origin_addr);
  call.origin.count = origin_count;
  call.origin.type = origin_datatype;
  call.target = {nullptr, target_count, target_datatype};
  call.target_rank = target_rank;
  call.target_disp = target_disp;
  return queue::enqueue_access(call, win, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                                   MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                                   MPIX_Queue given, MPI_Request *request) {
  sluice::ops::rma::Call call;
  call.operation = sluice::Operation::kEnqueueGet;
  call.origin = {origin_addr, origin_count, origin_datatype};
  call.target = {nullptr, target_count, target_datatype};
  call.target_rank = target_rank;
  call.target_disp = target_disp;
  return queue::enqueue_access(call, win, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_signal(int target_rank, MPI_Win win, MPIX_Queue given, MPI_Request *request) {
  return queue::enqueue_signal(true, target_rank, win, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_wait_signal(int source_rank, MPI_Win win, MPIX_Queue given, MPI_Request *request) {
  return queue::enqueue_signal(false, source_rank, win, given, request);
}

SLUICE_PUBLIC int sluice_enqueue_persistent(MPI_Request persistent, MPIX_Queue given, MPI_Request *request) {
  return queue::enqueue_persistent(persistent, given, request);
}

SLUICE_PUBLIC int MPIX_Enqueue_start(MPIX_Queue given) {
  return queue::enqueue_start(given);
}

SLUICE_PUBLIC int MPIX_Enqueue_wait(MPIX_Queue given) {
  return queue::enqueue_wait(given);
}

SLUICE_PUBLIC int sluice_queue_create(void *stream, MPIX_Queue *made) {
  return queue::create(false, MPI_COMM_NULL, stream, made);
}

SLUICE_PUBLIC int sluice_queue_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                    MPIX_Queue given, MPI_Request *request) {
  return queue::enqueue_send(buf, count, datatype, dest, tag, true, comm, given, request);
}

SLUICE_PUBLIC int sluice_queue_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                    MPIX_Queue given, MPI_Request *request) {
  return queue::enqueue_recv(buf, count, datatype, source, tag, true, comm, given, request);
}
