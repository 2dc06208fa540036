// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/queue.h. Threads: any, as sluice/queue.h has it, but for release_queues(): the one that ends
// MPI.
#pragma once

#include "ops/queue/batch_queue.hpp"
#include "ops/queue/host_messages.hpp"
#include "ops/rma/call.hpp"
#include "sluice/queue.h"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

// As MPIX_Create_queue; without `has_comm` each message brings its own communicator, and `comm` is MPI_COMM_NULL.
int create(bool has_comm, MPI_Comm comm, void *stream, MPIX_Queue *queue);
int free(MPIX_Queue queue);
// As MPIX_Enqueue_send and MPIX_Enqueue_recv. `has_comm`: `comm` is what the program said; else it is the queue's.
int enqueue_send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, bool has_comm, MPI_Comm comm,
                 MPIX_Queue queue, MPI_Request *request);
int enqueue_recv(void *buffer, int count, MPI_Datatype type, int source, int tag, bool has_comm, MPI_Comm comm,
                 MPIX_Queue queue, MPI_Request *request);
// As MPIX_Enqueue_allreduce, _bcast, _allgather and _barrier, by `given.operation`; its communicator is the queue's.
int enqueue_collective(CollectiveArguments given, MPIX_Queue queue, MPI_Request *request);
// As MPIX_Enqueue_put and _get, by `call.operation`.
int enqueue_access(const rma::Call &call, MPI_Win window, MPIX_Queue queue, MPI_Request *request);
// As MPIX_Enqueue_signal, and without `is_send` as MPIX_Enqueue_wait_signal.
int enqueue_signal(bool is_send, int peer, MPI_Win window, MPIX_Queue queue, MPI_Request *request);
// As sluice_enqueue_persistent.
int enqueue_persistent(MPI_Request persistent, MPIX_Queue queue, MPI_Request *request);
int enqueue_start(MPIX_Queue queue);
int enqueue_wait(MPIX_Queue queue);

// Lets go of the stream of a queue without a handle, if it is still there when MPI ends.
void abandon_at_end(const std::shared_ptr<BatchQueue> &queue);

// Gives back what the queues that the program has not freed hold. When nothing is under way any more.
void release_queues() noexcept;

}  // namespace sluice::ops::queue
