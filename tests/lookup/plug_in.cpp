// SPDX-License-Identifier: BSD-3-Clause
// A plug-in: references to MPI's functions that the dynamic linker binds when the plug-in is loaded, or first calls
// them.
#include "tests/lookup/plug_in.h"

#include <mpi.h>

extern "C" __attribute__((visibility("default"))) int plug_in_exchange(void *buffer, int size_bytes, int rank) {
  return rank == 0 ? MPI_Send(buffer, size_bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD)
                   : MPI_Recv(buffer, size_bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
