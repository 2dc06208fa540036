/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitions of a partitioned send (MPI_Psend_init) made ready in the order of a stream, or by kernels, as the MPI
 * Forum's drafts for accelerators have it. docs/queue/partitions.md is the guide. The receiver uses MPI_Precv_init,
 * MPI_Parrived and completion calls, as ever.
 *
 * The functions are defined by libsluice. Link it before MPI, or look them up with dlsym(RTLD_DEFAULT, ...).
 *
 * Rules for both functions
 *   Request   A partitioned send that MPI_Psend_init made when a device's runtime was in the process. All streams and
 *             kernels that make partitions of one request ready work on one device: that of its buffer, where that is
 *             device memory.
 *   Blocking  Neither waits for another process or for a stream. The first call for a request takes up to milliseconds:
 *             it makes memory that device and host reach. A runtime may refuse that while a stream waits for something.
 *             Then the error says so, nothing has changed, and a later call may work.
 *   Progress  Where Sluice moves the message directly (docs/queue/partitions.md), nothing more is needed of this
 *             process. Else the data moves while this process is in MPI calls, or has a progress thread.
 *   Threads   Any thread that may call MPI. Calls with one stream come from one thread at a time.
 *   Errors    An MPI error code, raised through the error handler of the communicator of the request (MPI_COMM_SELF
 *             where the request is none). Nothing was made ready then. MPI_Error_string has the reason and the remedy.
 *             What goes wrong with the data later is told by the completion of the request.
 */
#ifndef SLUICE_PARTITIONED_H
#define SLUICE_PARTITIONED_H

#include <mpi.h>
#include <sluice/partition_flags.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As MPI_Pready(partition, request), when `stream` comes to this point: what it was given before may still write the
 * partition. From the call on the partition counts as made ready, so the request stays started until the stream has
 * come there. `stream` is the runtime's own handle cast to a pointer, as for MPIX_Create_queue, and lives until the
 * request is freed. Other partitions of the same start may be made ready by MPI_Pready, by other streams, or by
 * kernels. Errors: MPI_ERR_ARG (no partition of this request, made ready twice, before MPI_Start, a null stream or
 * none, no partitioned send); MPI_ERR_BUFFER (a stream of another device); MPI_ERR_OTHER (the stream is being captured
 * into a graph; no backend that can; the runtime refuses; Sluice is switched off). */
int sluice_pready_on_stream(MPI_Request request, int partition, void *stream);

/* Writes to *flags what kernels of the buffer's device need to make partitions ready (sluice_set_partition_ready). The
 * same for all starts of the request, so a graph may be captured once and launched in each start. Every kernel that
 * uses them has ended before the request is freed. The buffer is device memory, or memory that a device's runtime
 * allocated on the host. Errors: MPI_ERR_ARG (no partitioned send, `flags` is null); MPI_ERR_BUFFER (other memory, or
 * streams of another device have made partitions ready); MPI_ERR_OTHER and MPI_ERR_NO_MEM (the runtime refuses; Sluice
 * is switched off). */
int sluice_get_partition_flags(MPI_Request request, sluice_partition_flags_t *flags);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_PARTITIONED_H */
