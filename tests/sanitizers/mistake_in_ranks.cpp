// SPDX-License-Identifier: BSD-3-Clause
// Makes the mistake that the argument names between MPI_Init and MPI_Finalize, as a rank test might.
#include <mpi.h>

#include "tests/sanitizers/mistakes.hpp"

int main(int argc, char **argv) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 2;
  const bool is_known = argc == 2 && sluice::tests::make_mistake(argv[1]);
  return MPI_Finalize() == MPI_SUCCESS && is_known ? 0 : 2;
}
