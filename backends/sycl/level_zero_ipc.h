// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes through Level Zero's own calls. What travels in a handle only names the memory; the
// driver's handle holds a descriptor, which the process that has the memory hands over on a local socket
// (docs/adr/0011).
#pragma once

#include <cstdint>

#include "level_zero.h"

namespace sluice::backends::sycl::level_zero {

// What names an allocation to the process that has it, and where that process is asked.
struct MemoryName {
  uint64_t begin;
  uint64_t size_bytes;
  uint64_t id;
  uint64_t socket_name[2];
  uint64_t start_time;  // with pid and name space: which process
  int32_t pid;
  uint32_t pid_namespace;
  uint32_t context;  // that process's number of it
  uint32_t zero;
};

// Names `range` of `context`, which lives as long as the process, and from now on hands it over to processes of the
// same user. Keeps nothing of the memory: what the program frees is free. SLUICE_ERROR_UNSUPPORTED when the memory
// cannot be exported, with the reason. `calls` lives as long as the process. Any thread.
Outcome export_memory(const Calls &calls, Context context, const NativeRange &range, MemoryName *name);
// Maps another process's allocation for `device`; *base is its first byte. Blocks for seconds at most. Keeps no
// descriptor. SLUICE_ERROR_UNSUPPORTED when that process cannot be asked. Any thread.
Outcome open_memory(const Calls &calls, Context context, Device device, const MemoryName &name, void **base);
Outcome close_memory(const Calls &calls, Context context, void *base);
// Ends the thread that hands memory over; names made before it are good for nothing. Any thread.
void stop_serving();

}  // namespace sluice::backends::sycl::level_zero
