/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preload library that lies: every third status of MPI_Recv gets another tag. The harness must notice. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

typedef int (*recv_fn)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);

__attribute__((visibility("default"))) int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                                                    MPI_Comm comm, MPI_Status *status) {
  static unsigned n_calls;
  recv_fn next = NULL;
  *(void **)&next = dlsym(RTLD_NEXT, "MPI_Recv");
  if (next == NULL) {
    return MPI_ERR_OTHER;
  }
  int code = next(buf, count, datatype, source, tag, comm, status);
  if (status != MPI_STATUS_IGNORE && ++n_calls % 3 == 0) {
    status->MPI_TAG += 1;
  }
  return code;
}
