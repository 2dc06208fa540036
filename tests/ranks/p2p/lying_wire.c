/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A layer below Sluice that changes the answers of a receiver on their way, while a test tells it to: the operation in
 * its acknowledgements (8 bytes), or in its requests for blocks (24 bytes, the number of that tag is 2;
 * docs/protocol.md, "Messages"), or its address behind a request for a direct message (more bytes, the same tag). What
 * it sends instead it keeps, for the host MPI may read it late. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile int told;

/* 0: nothing; 1: acknowledgements; 2: requests for blocks; 3: addresses. */
__attribute__((visibility("default"))) void lying_wire_tell(int what) {
  told = what;
}

__attribute__((visibility("default"))) int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest,
                                                     int tag, MPI_Comm comm, MPI_Request *request) {
  const int is_acknowledgement = told == 1 && count == 8 && tag >= 4 && tag % 4 == 0;
  const int is_request = told == 2 && count == 24 && tag == 2;
  const int is_address = told == 3 && count > 32 && tag == 2;
  if (datatype == MPI_BYTE && (is_acknowledgement || is_request || is_address)) {
    const size_t at = is_request ? 8 : is_address ? (size_t)count - 8 : 0;
    char *changed = malloc((size_t)count);
    if (changed == NULL) return MPI_ERR_NO_MEM;
    memcpy(changed, buf, (size_t)count);
    uint64_t operation = 0;
    memcpy(&operation, changed + at, sizeof operation);
    operation += 1000;
    memcpy(changed + at, &operation, sizeof operation);
    buf = changed;
  }
  return PMPI_Isend(buf, count, datatype, dest, tag, comm, request);
}
