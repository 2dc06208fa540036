// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/partitioned.h. Threads: any that may call MPI; with one stream one at a time.
#pragma once

#include "sluice/partition_flags.h"
#include "wire/mpi.hpp"

namespace sluice::ops {

// As sluice_pready_on_stream and sluice_get_partition_flags.
int pready_on_stream(MPI_Request request, int partition, void *stream);
int get_partition_flags(MPI_Request request, sluice_partition_flags_t *flags);

}  // namespace sluice::ops
