// SPDX-License-Identifier: BSD-3-Clause
// main() of the tests with ranks that are threads: one process of the host MPI, which knows the datatypes, and the
// module that lets a process map its own memory.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/environment.hpp"
#include "wire/mpi.hpp"

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  sluice::tests::clear_knobs();
  // The ranks go together whatever the length is.
  if (setenv("SLUICE_BACKEND_PATH", THREADS_MODULE_FOLDER, 1) != 0 || setenv("SLUICE_COLL_IPC", "always", 1) != 0 ||
      setenv("SLUICE_TUNING", "coll_ipc_threshold=0,coll_reduce_threshold=0", 1) != 0) {
    return 1;
  }
  int provided = MPI_THREAD_SINGLE;
  // Sluice's own, which is a part of this program.
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return 1;
  const int status = RUN_ALL_TESTS();
  return MPI_Finalize() == MPI_SUCCESS ? status : 1;
}
