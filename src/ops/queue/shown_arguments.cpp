// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/shown_arguments.hpp"

#include "wire/host.hpp"

namespace sluice::ops::queue {

int show(BatchQueue *queue, const Arguments &given) {
  if (queue->has_taken(given)) return MPI_SUCCESS;
  const wire::Host &host = wire::host();
  MPI_Request shown = MPI_REQUEST_NULL;
  const int count = given.count < 0 ? given.count : 0;
  const int result =
      given.is_send ? host.MPI_Send_init(given.buffer, count, given.type, given.peer, given.tag, given.comm, &shown)
                    : host.MPI_Recv_init(given.buffer, count, given.type, given.peer, given.tag, given.comm, &shown);
  if (result != MPI_SUCCESS) return result;
  // The MPI-5 ABI of MPICH 5 returns success after it has called the error handler.
  if (shown == MPI_REQUEST_NULL) return MPI_ERR_OTHER;
  if (const int freed = host.MPI_Request_free(&shown); freed != MPI_SUCCESS) return freed;
  queue->note_taken(given);
  return MPI_SUCCESS;
}

}  // namespace sluice::ops::queue
