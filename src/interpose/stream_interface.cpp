// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/enqueue.h, which MPICH's mpi.h declares, too: each goes on to the host MPI where the program
// leaves them to it, else to ops/stream.
#include "ops/stream/streams.hpp"
#include "sluice/enqueue.h"

namespace stream = sluice::ops::stream;

// Defines MPIX_`name` and, under the profiling name, PMPIX_`name`: `call` is the body where Sluice carries it out.
#define SLUICE_STREAM_FUNCTION(name, parameters, arguments, call)                                      \
  extern "C" __attribute__((visibility("default"))) int name parameters {                              \
    if (!stream::are_left_to_host()) return call;                                                      \
    static const auto hosts = reinterpret_cast<decltype(&(name))>(sluice::wire::extension("P" #name)); \
    return hosts != nullptr ? hosts arguments : stream::no_host_function(#name);                       \
  }                                                                                                    \
  extern "C" __attribute__((visibility("default"), alias(#name))) int P##name parameters

namespace {

// Sending does not change the buffer; one pointer serves both directions.
stream::Data data_of(const void *buffer, MPI_Count count, MPI_Datatype type) {
  return {const_cast<void *>(buffer), count, type};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace

SLUICE_STREAM_FUNCTION(MPIX_Info_set_hex, (MPI_Info info, const char *key, const void *value, int value_size),
                       (info, key, value, value_size), stream::info_set_hex(info, key, value, value_size));
SLUICE_STREAM_FUNCTION(MPIX_Stream_create, (MPI_Info info, MPIX_Stream *made), (info, made),
                       stream::stream_create(info, made));
SLUICE_STREAM_FUNCTION(MPIX_Stream_free, (MPIX_Stream * freed), (freed), stream::stream_free(freed));
SLUICE_STREAM_FUNCTION(MPIX_Stream_comm_create, (MPI_Comm comm, MPIX_Stream given, MPI_Comm *newcomm),
                       (comm, given, newcomm), stream::comm_create(comm, 1, &given, false, newcomm));
SLUICE_STREAM_FUNCTION(MPIX_Stream_comm_create_multiplex,
                       (MPI_Comm comm, int count, MPIX_Stream *given, MPI_Comm *newcomm), (comm, count, given, newcomm),
                       stream::comm_create(comm, count, given, true, newcomm));
SLUICE_STREAM_FUNCTION(MPIX_Comm_get_stream, (MPI_Comm comm, int idx, MPIX_Stream *found), (comm, idx, found),
                       stream::comm_get_stream(comm, idx, found));
SLUICE_STREAM_FUNCTION(MPIX_Stream_progress, (MPIX_Stream given), (given),
                       stream::progress_of(stream::Progress::kTurn, given));
SLUICE_STREAM_FUNCTION(MPIX_Start_progress_thread, (MPIX_Stream given), (given),
                       stream::progress_of(stream::Progress::kStart, given));
SLUICE_STREAM_FUNCTION(MPIX_Stop_progress_thread, (MPIX_Stream given), (given),
                       stream::progress_of(stream::Progress::kStop, given));

#define SLUICE_SEND(name, Count)                                                                                    \
  SLUICE_STREAM_FUNCTION(name, (const void *buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm), \
                         (buf, count, type, dest, tag, comm),                                                       \
                         stream::send_enqueue(data_of(buf, count, type), dest, tag, comm))
#define SLUICE_RECV(name, Count)                                                                                 \
  SLUICE_STREAM_FUNCTION(                                                                                        \
      name, (void *buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status), \
      (buf, count, type, source, tag, comm, status),                                                             \
      stream::recv_enqueue(data_of(buf, count, type), source, tag, comm, status))
#define SLUICE_ISEND(name, Count)                                                                                      \
  SLUICE_STREAM_FUNCTION(                                                                                              \
      name, (const void *buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request), \
      (buf, count, type, dest, tag, comm, request),                                                                    \
      stream::isend_enqueue(data_of(buf, count, type), dest, tag, comm, request))
#define SLUICE_IRECV(name, Count)                                                                                  \
  SLUICE_STREAM_FUNCTION(                                                                                          \
      name, (void *buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request), \
      (buf, count, type, source, tag, comm, request),                                                              \
      stream::irecv_enqueue(data_of(buf, count, type), source, tag, comm, request))
#define SLUICE_ALLREDUCE(name, Count)                                                                                  \
  SLUICE_STREAM_FUNCTION(name, (const void *from, void *to, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
                         (from, to, count, type, op, comm),                                                            \
                         stream::allreduce_enqueue(from, data_of(to, count, type), op, comm))

SLUICE_SEND(MPIX_Send_enqueue, int);
SLUICE_SEND(MPIX_Send_enqueue_c, MPI_Count);
SLUICE_RECV(MPIX_Recv_enqueue, int);
SLUICE_RECV(MPIX_Recv_enqueue_c, MPI_Count);
SLUICE_ISEND(MPIX_Isend_enqueue, int);
SLUICE_ISEND(MPIX_Isend_enqueue_c, MPI_Count);
SLUICE_IRECV(MPIX_Irecv_enqueue, int);
SLUICE_IRECV(MPIX_Irecv_enqueue_c, MPI_Count);
SLUICE_ALLREDUCE(MPIX_Allreduce_enqueue, int);
SLUICE_ALLREDUCE(MPIX_Allreduce_enqueue_c, MPI_Count);

SLUICE_STREAM_FUNCTION(MPIX_Wait_enqueue, (MPI_Request * request, MPI_Status *status), (request, status),
                       stream::wait_enqueue(1, request, status != MPI_STATUS_IGNORE ? status : MPI_STATUSES_IGNORE));
SLUICE_STREAM_FUNCTION(MPIX_Waitall_enqueue, (int count, MPI_Request *requests, MPI_Status *statuses),
                       (count, requests, statuses), stream::wait_enqueue(count, requests, statuses));
