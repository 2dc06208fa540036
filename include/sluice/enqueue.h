/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPICH's interface of streams, for every host MPI: a communicator gets a stream of a device's, and messages and
 * reductions are enqueued into that stream (MPICH 4.1 and later; arXiv 2208.13707). With this header a program that is
 * written for it builds with an MPI that has no such functions; with MPICH's own mpi.h it adds nothing.
 *
 * libsluice defines the functions. Before a host MPI that has them it carries what concerns streams of devices, and the
 * host MPI all else; SLUICE_MPIX_STREAMS=host leaves all to the host MPI. MPIX_Stream_send, _isend, _recv and _irecv
 * are the host MPI's alone.
 *
 * Rules for every function that enqueues
 *   Blocking  None waits for a message or for another process. MPIX_Stream_comm_create is collective, as MPI_Comm_dup.
 *   Order     What is enqueued comes behind what the program has given the stream before the call, and before what it
 *             gives it afterwards. MPIX_Isend_enqueue and MPIX_Irecv_enqueue let what follows go on; the messages of a
 *             communicator match in the order of the calls. Plain messages on the communicator match enqueued ones.
 *   Buffers   Host memory, or memory of the stream's device. From the call until the stream is past the operation (its
 *             wait) nobody else may change a buffer of a send, or use one of a receive. A datatype may be freed at
 *             once.
 *   Threads   MPI must give MPI_THREAD_MULTIPLE: a thread of Sluice's starts the messages. A program whose own file
 *             calls MPIX_Stream_comm_create gets that level from MPI_Init, too. Any thread may call.
 *   Capture   As sluice/queue.h has it. In a graph a wait is for all messages that were captured so far.
 *   Errors    An MPI error code, raised through the error handler of the communicator. After an error nothing was
 *             enqueued. MPI_Error_string has the reason and the remedy. What goes wrong with a message later is raised
 *             on the communicator when it is found, by any thread that is in MPI; MPI_ERROR of the status says it, too.
 *             The stream goes on all the same, so that nothing hangs.
 */
#ifndef SLUICE_ENQUEUE_H
#define SLUICE_ENQUEUE_H

#include <mpi.h>

#ifndef MPIX_STREAM_NULL

#ifdef __cplusplus
extern "C" {
#endif

/* A stream that MPI knows, by a number. */
typedef int MPIX_Stream;

/* No stream: the host thread's own order. */
#define MPIX_STREAM_NULL ((MPIX_Stream)0x3c000000)

/* Sets `key` of `info` to the `value_size` bytes at `value`, as hexadecimal digits. Local. Errors: those of
 * MPI_Info_set; MPI_ERR_ARG (a null pointer, a negative size). */
int MPIX_Info_set_hex(MPI_Info info, const char *key, const void *value, int value_size);

/* Makes a stream known to MPI. `info` has in `type` what the runtime calls the type of such a stream, and in `value`
 * its handle, by MPIX_Info_set_hex(info, "value", &stream, sizeof stream); docs/queue/enqueue.md has the names. Without
 * `type` it is the order of a thread, into which nothing can be enqueued. The runtime's stream lives until all
 * communicators that have it are freed. Local. Errors: MPI_ERR_ARG (no loaded backend has such streams; no value; the
 * value is no stream), MPI_ERR_OTHER (MPI does not give MPI_THREAD_MULTIPLE). */
int MPIX_Stream_create(MPI_Info info, MPIX_Stream *stream);
/* Forgets a stream, and sets *stream to MPIX_STREAM_NULL. Communicators keep it. Local. Errors: MPI_ERR_ARG (none). */
int MPIX_Stream_free(MPIX_Stream *stream);

/* Makes a duplicate of `comm` to which this process attaches `stream`, or MPIX_STREAM_NULL. Duplicates of the new
 * communicator have the stream, too. Collective over `comm`. MPI_Comm_free of it waits until the stream has carried out
 * what was enqueued. Errors: those of MPI_Comm_dup; MPI_ERR_ARG (the stream is none). */
int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm *newcomm);
/* The same with several streams, for the host MPI's functions that name one by its index; nothing is enqueued there. */
int MPIX_Stream_comm_create_multiplex(MPI_Comm comm, int count, MPIX_Stream array_of_streams[], MPI_Comm *newcomm);
/* *stream is the stream with the number `idx` of `comm`, from 0; MPIX_STREAM_NULL where there is none. Local. */
int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream *stream);

/* Lets messages under way go on. Local. */
int MPIX_Stream_progress(MPIX_Stream stream);
/* A stream of a device's needs no call of these: Sluice's own thread serves it. Local. Errors: MPI_ERR_ARG (the order
 * of a thread, and the host MPI has no such function). */
int MPIX_Start_progress_thread(MPIX_Stream stream);
/* The other end of MPIX_Start_progress_thread. */
int MPIX_Stop_progress_thread(MPIX_Stream stream);

/* Enqueues a send: what the stream runs next finds the buffer free. Arguments as MPI_Send's. Errors: MPI_Send's;
 * MPI_ERR_ARG (the communicator has no stream of a device's, or several), MPI_ERR_BUFFER (memory of another device). */
int MPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
/* Enqueues a receive: what the stream runs next has the data. `status` (or MPI_STATUS_IGNORE) is written by then, and
 * stays in place until then. Arguments as MPI_Recv's; MPI_ANY_SOURCE and MPI_ANY_TAG where the host MPI matches the
 * messages (docs/queue/engines.md: engine `thread`), else MPI_ERR_ARG. Errors: as MPIX_Send_enqueue. */
int MPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status *status);
/* Enqueues the start of a send, and returns its request, which MPIX_Wait_enqueue, MPIX_Waitall_enqueue, or any
 * completion function of MPI's completes. Errors: as MPIX_Send_enqueue. */
int MPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                       MPI_Request *request);
/* The same for a receive. */
int MPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Request *request);
/* Has the stream wait for a message, and for no other. *request is MPI_REQUEST_NULL then; `status` as of
 * MPIX_Recv_enqueue. Errors: MPI_ERR_ARG (no request of MPIX_Isend_enqueue or MPIX_Irecv_enqueue); what the message
 * ended with, if that is known by now. */
int MPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
/* The same for several; MPI_REQUEST_NULL among them is passed over. Those of one stream are awaited at one point of it.
 * Errors: after MPI_ERR_ARG all requests are as before. */
int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses);
/* Enqueues an MPI_Allreduce. The communicator carries no other collective operation while one is enqueued and not
 * complete. Errors: as MPIX_Enqueue_allreduce of sluice/queue.h. */
int MPIX_Allreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                           MPI_Comm comm);

/* The same with counts of MPI_Count. Errors: MPI_ERR_COUNT where the host MPI cannot say so many elements. */
int MPIX_Send_enqueue_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
/* MPIX_Recv_enqueue with a count of MPI_Count. */
int MPIX_Recv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Status *status);
/* MPIX_Isend_enqueue with a count of MPI_Count. */
int MPIX_Isend_enqueue_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request);
/* MPIX_Irecv_enqueue with a count of MPI_Count. */
int MPIX_Irecv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                         MPI_Request *request);
/* MPIX_Allreduce_enqueue with a count of MPI_Count. */
int MPIX_Allreduce_enqueue_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif /* MPIX_STREAM_NULL */

#endif /* SLUICE_ENQUEUE_H */
