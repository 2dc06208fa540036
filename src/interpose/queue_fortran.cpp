// SPDX-License-Identifier: BSD-3-Clause
// The C side of include/sluice/sluice_queue.f90: the functions of sluice/queue.h with Fortran's handles.
#include <string>
#include <type_traits>

#include "base/log.hpp"
#include "ops/queue/queues.hpp"
#include "wire/host.hpp"

#define SLUICE_PUBLIC extern "C" __attribute__((visibility("default")))

namespace {

namespace queue = sluice::ops::queue;

// MPI_Fint, which the MPI-5 binary interface leaves out of its header: Fortran's default integer.
using Fint = int;

// Handles that are numbers in C are the same numbers in Fortran; others the host MPI converts, by a function that its
// header may hide behind a macro: `name` as MPI has it, or as the MPI-5 binary interface has.
template <typename To, typename From>
To convert(const char *name, const char *abi_name, From handle, To otherwise) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return static_cast<To>(handle);
  } else {
    using Function = To (*)(From);
    for (const char *known : {name, abi_name}) {
      const auto function = reinterpret_cast<Function>(sluice::wire::extension(known));
      if (function != nullptr) return function(handle);
    }
    // Appended, not added up: of a sum of strings GCC 12 warns wrongly (-Warray-bounds), by what it made of the file
    // before.
    std::string text = "the host MPI has no ";
    text += name;
    text += ": queues cannot be used from Fortran with it; use them from C";
    sluice::log::error("interpose", text);
    return otherwise;
  }
}

MPI_Comm comm_of(Fint comm) {
  return convert<MPI_Comm>("MPI_Comm_f2c", "MPI_Comm_fromint", comm, MPI_COMM_NULL);
}
MPI_Datatype type_of(Fint type) {
  return convert<MPI_Datatype>("MPI_Type_f2c", "MPI_Type_fromint", type, MPI_DATATYPE_NULL);
}
MPI_Op op_of(Fint op) {
  return convert<MPI_Op>("MPI_Op_f2c", "MPI_Op_fromint", op, MPI_OP_NULL);
}
MPI_Win win_of(Fint win) {
  return convert<MPI_Win>("MPI_Win_f2c", "MPI_Win_fromint", win, MPI_WIN_NULL);
}
MPI_Request request_of(Fint request) {
  return convert<MPI_Request>("MPI_Request_f2c", "MPI_Request_fromint", request, MPI_REQUEST_NULL);
}

// What the caller is given, once the call has succeeded.
int give(int code, MPI_Request request, Fint *given) {
  if (code == MPI_SUCCESS) *given = convert("MPI_Request_c2f", "MPI_Request_toint", request, Fint{0});
  return code;
}

}  // namespace

SLUICE_PUBLIC int sluice_queue_create_f(Fint comm, void *stream, MPIX_Queue *made) {
  return queue::create(true, comm_of(comm), stream, made);
}

SLUICE_PUBLIC int sluice_queue_send_f(const void *buffer, Fint count, Fint type, Fint dest, Fint tag, MPIX_Queue given,
                                      Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = queue::enqueue_send(buffer, count, type_of(type), dest, tag, false, MPI_COMM_NULL, given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_recv_f(void *buffer, Fint count, Fint type, Fint source, Fint tag, MPIX_Queue given,
                                      Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = queue::enqueue_recv(buffer, count, type_of(type), source, tag, false, MPI_COMM_NULL, given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_send_on_f(const void *buffer, Fint count, Fint type, Fint dest, Fint tag, Fint comm,
                                         MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = queue::enqueue_send(buffer, count, type_of(type), dest, tag, true, comm_of(comm), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_recv_on_f(void *buffer, Fint count, Fint type, Fint source, Fint tag, Fint comm,
                                         MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = queue::enqueue_recv(buffer, count, type_of(type), source, tag, true, comm_of(comm), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_persistent_f(Fint persistent, MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = queue::enqueue_persistent(request_of(persistent), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_allreduce_f(const void *send_buf, void *recv_buf, Fint count, Fint type, Fint op,
                                           MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_allreduce(send_buf, recv_buf, count, type_of(type), op_of(op), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_bcast_f(void *buffer, Fint count, Fint type, Fint root, MPIX_Queue given,
                                       Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_bcast(buffer, count, type_of(type), root, given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_allgather_f(const void *send_buf, Fint send_count, Fint send_type, void *recv_buf,
                                           Fint recv_count, Fint recv_type, MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_allgather(send_buf, send_count, type_of(send_type), recv_buf, recv_count,
                                          type_of(recv_type), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_barrier_f(MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_barrier(given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_put_f(const void *origin, Fint origin_count, Fint origin_type, Fint target_rank,
                                     MPI_Aint target_disp, Fint target_count, Fint target_type, Fint win,
                                     MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_put(origin, origin_count, type_of(origin_type), target_rank, target_disp, target_count,
                                    type_of(target_type), win_of(win), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_get_f(void *origin, Fint origin_count, Fint origin_type, Fint target_rank,
                                     MPI_Aint target_disp, Fint target_count, Fint target_type, Fint win,
                                     MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_get(origin, origin_count, type_of(origin_type), target_rank, target_disp, target_count,
                                    type_of(target_type), win_of(win), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_signal_f(Fint target_rank, Fint win, MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_signal(target_rank, win_of(win), given, &made);
  return give(code, made, request);
}

SLUICE_PUBLIC int sluice_queue_wait_signal_f(Fint source_rank, Fint win, MPIX_Queue given, Fint *request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPIX_Enqueue_wait_signal(source_rank, win_of(win), given, &made);
  return give(code, made, request);
}
