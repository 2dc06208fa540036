// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/enqueue.h. Each returns an MPI error code, raised already. Threads: any.
#pragma once

#include <span>

#include "ops/stream/comm_streams.hpp"
#include "wire/host.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::stream {

// The program leaves all to the host MPI: SLUICE_MPIX_STREAMS, or Sluice is switched off. Hot.
[[nodiscard]] bool are_left_to_host() noexcept;
// The error of a function that is left to a host MPI which has none.
int no_host_function(const char *name) noexcept;

// As the functions of that name. Numbers of streams are MPIX_Stream.
int info_set_hex(MPI_Info info, const char *key, const void *value, int size_bytes) noexcept;
int stream_create(MPI_Info info, int *stream) noexcept;
int stream_free(int *stream) noexcept;
// MPIX_Stream_comm_create, and with `is_multiplex` MPIX_Stream_comm_create_multiplex.
int comm_create(MPI_Comm comm, int count, const int *streams, bool is_multiplex, MPI_Comm *created) noexcept;
int comm_get_stream(MPI_Comm comm, int index, int *stream) noexcept;
// MPIX_Stream_progress, MPIX_Start_progress_thread, MPIX_Stop_progress_thread.
enum class Progress : std::uint8_t { kTurn, kStart, kStop };
int progress_of(Progress what, int stream) noexcept;

// What is sent or received.
struct Data {
  void *buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
// MPIX_Send_enqueue and MPIX_Recv_enqueue. `status` may be MPI_STATUS_IGNORE.
int send_enqueue(const Data &data, int dest, int tag, MPI_Comm comm) noexcept;
int recv_enqueue(const Data &data, int source, int tag, MPI_Comm comm, MPI_Status *status) noexcept;
// MPIX_Isend_enqueue and MPIX_Irecv_enqueue.
int isend_enqueue(const Data &data, int dest, int tag, MPI_Comm comm, MPI_Request *request) noexcept;
int irecv_enqueue(const Data &data, int source, int tag, MPI_Comm comm, MPI_Request *request) noexcept;
// MPIX_Waitall_enqueue; of one request MPIX_Wait_enqueue. `statuses` may be MPI_STATUSES_IGNORE.
int wait_enqueue(int count, MPI_Request *requests, MPI_Status *statuses) noexcept;
// MPIX_Allreduce_enqueue; `data` is the receive buffer.
int allreduce_enqueue(const void *sendbuf, const Data &data, MPI_Op op, MPI_Comm comm) noexcept;

}  // namespace sluice::ops::stream
