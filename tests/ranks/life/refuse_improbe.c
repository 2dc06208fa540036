/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tool below Sluice: MPI_Improbe, which the program of this test calls nowhere, fails on rank 1 alone. */
#include <mpi.h>

__attribute__((visibility("default"))) int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag,
                                                       MPI_Message *message, MPI_Status *status) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) return MPI_ERR_INTERN;
  return PMPI_Improbe(source, tag, comm, flag, message, status);
}
