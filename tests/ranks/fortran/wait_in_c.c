/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request that was made in Fortran is completed in C, with the handle and status conversions of MPI. */
#include <mpi.h>
#include <stdlib.h>

/* envelope: source, tag, bytes. */
int test_wait_in_c(MPI_Fint *request, MPI_Fint envelope[3]) {
  MPI_Request c_request = MPI_Request_f2c(*request);
  MPI_Status status;
  MPI_Status converted;
  MPI_Fint *words = malloc(sizeof(MPI_Status));
  if (words == NULL) return MPI_ERR_NO_MEM;
  int bytes = -1;
  int code = MPI_Wait(&c_request, &status);
  *request = MPI_Request_c2f(c_request);
  if (code == MPI_SUCCESS) code = MPI_Status_c2f(&status, words);
  if (code == MPI_SUCCESS) code = MPI_Status_f2c(words, &converted);
  if (code == MPI_SUCCESS) code = MPI_Get_count(&converted, MPI_BYTE, &bytes);
  free(words);
  if (code != MPI_SUCCESS) return code;
  envelope[0] = converted.MPI_SOURCE;
  envelope[1] = converted.MPI_TAG;
  envelope[2] = bytes;
  return MPI_SUCCESS;
}
