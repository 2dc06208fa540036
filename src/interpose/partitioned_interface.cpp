// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/partitioned.h.
#include "ops/p2p/partitioned.hpp"
#include "sluice/partitioned.h"

#define SLUICE_PUBLIC extern "C" __attribute__((visibility("default")))

SLUICE_PUBLIC int sluice_pready_on_stream(MPI_Request request, int partition, void *stream) {
  return sluice::ops::pready_on_stream(request, partition, stream);
}

SLUICE_PUBLIC int sluice_get_partition_flags(MPI_Request request, sluice_partition_flags_t *flags) {
  return sluice::ops::get_partition_flags(request, flags);
}
