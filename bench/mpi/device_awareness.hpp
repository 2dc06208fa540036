// SPDX-License-Identifier: BSD-3-Clause
// Does this MPI take device memory? Asked before the first device buffer is handed over: an MPI that does not would
// crash or, worse, not.
#pragma once

#include <string>

namespace sluice::bench {

struct DeviceAwareness {
  bool is_aware = false;
  std::string evidence;  // who said so, or what was asked in vain
};

// The info key mpi_memory_alloc_kinds of MPI 4.1, as MPI_COMM_WORLD has it; "" where the MPI has no such key. Local.
std::string memory_kinds();

// Asks, in this order: the library that may be preloaded below us, the MPI's own MPIX_Query_<module>_support, its
// MPIX_GPU_query_support, and the info key mpi_memory_alloc_kinds of MPI 4.1. Local. Call it once device memory exists.
DeviceAwareness query_device_awareness(const std::string &module_name);

}  // namespace sluice::bench
