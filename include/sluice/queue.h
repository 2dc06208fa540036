/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stream-triggered messages: sends and receives that a stream of the program's starts and waits for, in its own order,
 * while the host goes on (arXiv 2208.04817, section III; figure 7 there is a whole program). docs/queue/guide.md
 * is the guide.
 *
 * The functions are defined by libsluice. Link it before MPI, or look them up with dlsym(RTLD_DEFAULT, ...).
 *
 * Rules for every function
 *   Blocking  None waits for a message or for another process. All are local. MPIX_Enqueue_start alone may wait for
 *             the stream, as a runtime does whose stream is full.
 *   Order     What a stream is told here comes behind what the program has enqueued there before the call, and before
 *             what it enqueues after it.
 *   Threads   MPI must give MPI_THREAD_MULTIPLE. Any thread; calls for one queue from several threads come in some
 *             order, so their threads have to agree. While one is in a call for a queue, no other thread enqueues
 *             commands of its own on that stream unless its runtime allows that.
 *   Capture   While the program captures the stream into a graph, the messages that are enqueued and started are the
 *             graph's, where engine and backend can (docs/queue/semantics.md, "Captured into a graph"); else an error
 *             says so.
 *   Errors    An MPI error code, raised through the error handler of the message's or the queue's communicator
 *             (MPI_COMM_SELF where none is known). After an error nothing was enqueued and the queue is as before,
 *             unless it says otherwise. MPI_Error_string has the reason and the remedy. What goes wrong with a message
 *             later is told by the completion of its request; the stream's wait passes all the same, so that nothing
 *             hangs.
 */
#ifndef SLUICE_QUEUE_H
#define SLUICE_QUEUE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A queue of messages that belongs to one stream. A number in a pointer's clothes, never given out twice in a process:
 * the handle of a queue that was freed is known for one. */
typedef struct sluice_mpix_queue *MPIX_Queue;

/* No queue. */
#define MPIX_QUEUE_NULL ((MPIX_Queue)0)

/* Makes a queue for `stream`, the runtime's own stream handle cast to a pointer (docs/queue/guide.md says which). The
 * stream lives until MPIX_Free_queue has returned. Messages of the queue go on `comm`, which lives until they are
 * complete; no duplicate is made, so that plain MPI calls on `comm` match them. Several queues may have one stream or
 * one communicator. Starts Sluice's progress thread, which needs a core while messages are under way. Errors:
 * MPI_ERR_ARG (null stream, no stream), MPI_ERR_OTHER (no backend that can; MPI does not give MPI_THREAD_MULTIPLE;
 * Sluice is switched off). Setup cost. Section III.A. */
int MPIX_Create_queue(MPI_Comm comm, void *stream, MPIX_Queue *queue);

/* Frees a queue whose messages are all complete (by their requests, or by a wait that the stream has passed): else
 * MPI_ERR_ARG, and the queue stays. Requests of completed messages may outlive it. Section III.A. */
int MPIX_Free_queue(MPIX_Queue queue);

/* Enqueues a send, to be started by the next MPIX_Enqueue_start. Arguments as MPI_Isend's; nothing is read from `buf`
 * before the stream has come to that start, so kernels that the stream runs before may still write it. From then until
 * the message is complete it must not be changed. `buf` is host memory or memory of the stream's device.
 * *request is a request of MPI's like any other: MPI_Wait, MPI_Test, ... complete it, beside others in one array, and
 * MPI_Request_free frees it. It must be completed or freed; MPI_Cancel has no effect on it. A wait before the start was
 * enqueued never ends. `datatype` may be freed at once.
 * The receiver may use MPI_Recv, MPI_Irecv, or MPIX_Enqueue_recv. Errors: as MPI_Isend; MPI_ERR_BUFFER (memory of
 * another device). Section III.B. */
int MPIX_Enqueue_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPIX_Queue queue,
                      MPI_Request *request);

/* The same for a receive. MPI_ANY_SOURCE and MPI_ANY_TAG are MPI_ERR_ARG (section III.D). The data is in `buf` for what
 * the stream runs after the next MPIX_Enqueue_wait, or for the host when the request is complete. */
int MPIX_Enqueue_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPIX_Queue queue,
                      MPI_Request *request);

/* Collective operations of all members of the queue's communicator (not of a queue of the vendor's form, which has
 * none, and not of an intercommunicator): like MPI_Iallreduce, MPI_Ibcast, MPI_Iallgather and MPI_Ibarrier, called when
 * the stream comes to the next start; what follows the next MPIX_Enqueue_wait has the result. Buffers, datatypes and
 * the request as of MPIX_Enqueue_send; MPI_IN_PLACE as MPI has it; `op`, if it is the program's own, lives until the
 * request is complete, and runs on the thread that finds it due.
 * MPI counts a collective operation as called when it is started, and wants all members to call those of one
 * communicator in one order. So all members enqueue them in one order, and while any is enqueued and not complete the
 * communicator carries no collective operation of another queue or of the host: give a queue a communicator of its own
 * (MPI_Comm_dup). Errors: MPI_ERR_ARG (a negative count, no root, no datatype, no communicator), MPI_ERR_BUFFER (memory
 * of another device); what only the host MPI can tell is told by the completion of the request. */
int MPIX_Enqueue_allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                           MPIX_Queue queue, MPI_Request *request);
/* Enqueues a broadcast: MPIX_Enqueue_allreduce says how. */
int MPIX_Enqueue_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPIX_Queue queue,
                       MPI_Request *request);
/* Enqueues an allgather: MPIX_Enqueue_allreduce says how. */
int MPIX_Enqueue_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPIX_Queue queue, MPI_Request *request);
/* Enqueues a barrier: MPIX_Enqueue_allreduce says how. */
int MPIX_Enqueue_barrier(MPIX_Queue queue, MPI_Request *request);

/* Enqueues a put: when the stream comes to the next start, it writes into the window of another rank, which does
 * nothing for it. Arguments as MPI_Put's. `win` is a window of which some rank has device memory, and this rank is in
 * an epoch for the target (MPI_Win_lock_all, ...) until the request is complete. MPI_Win_flush and its kin do not wait
 * for what the stream has not come to. Buffer, datatypes and request as of MPIX_Enqueue_send; memory of another device
 * than the stream's is taken, too. The stream itself copies, in its own order, where origin and target are one run
 * each, the origin is memory of the stream's device, and the target is of the same node or the rank itself. All else
 * goes by turns of the progress thread. When the stream passes the next wait, or the request is complete, the data is
 * in the target's window. The operations of a batch have no order among themselves; those of one batch come before
 * those of the next of the same queue. Errors: the classes of MPI_Put, raised on the queue's communicator; MPI_ERR_ARG
 * (a window of the host MPI's). */
int MPIX_Enqueue_put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                     MPIX_Queue queue, MPI_Request *request);
/* Enqueues a get, which reads there what MPI_Get would: MPIX_Enqueue_put says how. What the stream runs after the next
 * MPIX_Enqueue_wait has the data. */
int MPIX_Enqueue_get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                     MPIX_Queue queue, MPI_Request *request);

/* Enqueues a signal to a rank of the window: when all puts to that rank are there that this queue was given before, of
 * the same batch, too, the rank has one signal more from this one. The window's ranks are those of the queue's
 * communicator, in the same order. Needs no epoch. Signals and their waits are counted for each pair of ranks of each
 * window: one wait takes one signal. With SLUICE_QUEUE_ENGINE=device both ranks' queues have that engine, and one
 * stream on each side has the signals of a pair. Errors: MPI_ERR_RANK, MPI_ERR_ARG (a window of the host MPI's; other
 * ranks). Compare ncclPutSignal and ncclWaitSignal of NCCL 2.29, and nvshmemx_signal_op_on_stream of NVSHMEM. */
int MPIX_Enqueue_signal(int target_rank, MPI_Win win, MPIX_Queue queue, MPI_Request *request);
/* Enqueues the wait for a signal from a rank of the window: what the stream runs after the next MPIX_Enqueue_wait finds
 * what was put before the signal. */
int MPIX_Enqueue_wait_signal(int source_rank, MPI_Win win, MPIX_Queue queue, MPI_Request *request);

/* Sluice's own: enqueues the start of a persistent operation, inactive now (MPI_Send_init, MPI_Recv_init, or any other
 * that MPI_Start takes): the stream starts it as it does the messages of its batch. `persistent` itself is not
 * started, waited for, or freed by the program until *request is complete, which is a request like that of
 * MPIX_Enqueue_send and has the operation's status; then it is inactive again, and may be enqueued again. As to device
 * memory of other devices than the stream's nothing is checked. Errors: MPI_ERR_ARG (MPI_REQUEST_NULL, an active
 * request). */
int sluice_enqueue_persistent(MPI_Request persistent, MPIX_Queue queue, MPI_Request *request);

/* Has the stream, when it comes to this point, start all messages that were enqueued since the last start: one batch.
 * Batches start in their order, messages of a batch in the order in which they were enqueued, as if MPI_Isend and
 * MPI_Irecv were called one after the other. A batch may be empty. When
 * the stream is as many batches behind as the setting queue_depth says, this waits until it is nearer, without holding
 * up messages; when it does not move for the time of the setting queue_patience, MPI_ERR_OTHER: nothing was enqueued,
 * and the call may be made again. */
int MPIX_Enqueue_start(MPIX_Queue queue);

/* Has the stream wait at this point until all batches started so far are complete. Messages enqueued since the last
 * start are not waited for. MPI_ERR_ARG when nothing was ever started: such a wait would mean nothing. */
int MPIX_Enqueue_wait(MPIX_Queue queue);

/* The vendor's form of the interface, where the communicator comes with each message and a queue has none: with
 * SLUICE_QUEUE_VENDOR_FORM defined before this header, MPIX_Create_queue(stream, &queue) and
 * MPIX_Enqueue_send(buf, count, datatype, dest, tag, comm, queue, &request) are these functions. All else is the same.
 * On a queue that was made with a communicator a message of this form has to name that one (else MPI_ERR_ARG).
 * Programs that were compiled for the vendor's library are compiled again: the names are the same and the arguments are
 * not. */
int sluice_queue_create(void *stream, MPIX_Queue *queue);
/* MPIX_Enqueue_send with a communicator of its own. */
int sluice_queue_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                      MPIX_Queue queue, MPI_Request *request);
/* MPIX_Enqueue_recv with a communicator of its own. */
int sluice_queue_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPIX_Queue queue,
                      MPI_Request *request);

#ifdef SLUICE_QUEUE_VENDOR_FORM
#define MPIX_Create_queue sluice_queue_create
#define MPIX_Enqueue_send sluice_queue_send
#define MPIX_Enqueue_recv sluice_queue_recv
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_QUEUE_H */
