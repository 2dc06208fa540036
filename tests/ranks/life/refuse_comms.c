/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tool below Sluice: MPI_Comm_create, which no program of these tests calls itself, fails on rank 1 alone, with the
 * communicator's error handler, from the second call on. The others have theirs. */
#include <mpi.h>

static int n_calls;

__attribute__((visibility("default"))) int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made) {
  const int result = PMPI_Comm_create(comm, group, made);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (result != MPI_SUCCESS || rank != 1 || ++n_calls < 2) return result;
  PMPI_Comm_free(made);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_INTERN);
  return MPI_ERR_INTERN;
}
