// SPDX-License-Identifier: BSD-3-Clause
// Staging memory.
#include "module.h"

namespace sluice::backends::emu {

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  return translate(emu_malloc_host(size_bytes, alignment, memory));
}

sluice_result_t host_free(int32_t device, void *memory) {
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  return translate(emu_free(memory));
}

// As on the machine of the profile dg1, where the runtime's own host memory is the faster (CCGrid'23, figure 4).
// Without a profile the four kinds cost the same.
sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::emu
