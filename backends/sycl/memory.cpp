// SPDX-License-Identifier: BSD-3-Clause
// Owns staging memory: the runtime's host allocations.
#include <bit>
#include <mutex>

#include "runtime.h"

namespace sluice::backends::sycl {

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  *memory = nullptr;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "alignment " + std::to_string(alignment) + " is no power of two");
  }
  return guarded("aligned_alloc_host", [&] {
    const ::sycl::context &context = Runtime::start().default_context(device).context;
    const size_t size = size_bytes == 0 ? 1 : size_bytes;
    // One at a time: over the CUDA adapter, concurrent aligned allocations were seen to fail (H200, 2026.2.0).
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    *memory =
        alignment == 0 ? ::sycl::malloc_host(size, context) : ::sycl::aligned_alloc_host(alignment, size, context);
    if (*memory != nullptr) return SLUICE_SUCCESS;
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "aligned_alloc_host gave no " + std::to_string(size) +
                                                " bytes aligned to " + std::to_string(alignment));
  });
}

// While the process exits the memory is left to its end.
sluice_result_t host_free(int32_t device, void *memory) {
  if (memory == nullptr || is_exiting()) return SLUICE_SUCCESS;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("free", [&] {
    ::sycl::free(memory, Runtime::start().default_context(device).context);
    return SLUICE_SUCCESS;
  });
}

sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::sycl
