// SPDX-License-Identifier: BSD-3-Clause
// main() of the layout tests: one rank, MPI with threads, and the world's error handlers watched.
#include <gtest/gtest.h>

#include "tests/layout/buffers.hpp"
#include "wire/host.hpp"

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const sluice::wire::Host &mpi = sluice::wire::host();
  int provided = MPI_THREAD_SINGLE;
  if (mpi.MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return 1;
  sluice::tests::watch_errors();
  const int status = RUN_ALL_TESTS();
  return mpi.MPI_Finalize() == MPI_SUCCESS ? status : 1;
}
