/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A profiling tool as programs have them: wraps MPI_Send, counts, and goes on through PMPI_Send. Prints its count at
 * MPI_Finalize. It knows nothing of Sluice. */
#include <mpi.h>
#include <stdio.h>

static int n_sends;

__attribute__((visibility("default"))) int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest,
                                                    int tag, MPI_Comm comm) {
  ++n_sends;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

__attribute__((visibility("default"))) int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("tool: rank %d sent %d\n", rank, n_sends);
  fflush(stdout);
  return PMPI_Finalize();
}
