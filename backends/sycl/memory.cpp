// SPDX-License-Identifier: BSD-3-Clause
// Owns staging memory: the runtime's host allocations.
#include <bit>
#include <map>
#include <mutex>

#include "runtime.h"
#include "waits.h"
#include "watcher.h"

namespace sluice::backends::sycl {

namespace {

// Of what host_alloc gave: the runtime does not tell sizes. Never destroyed: memory may be given back at exit.
struct Sizes {
  std::mutex mutex;
  std::map<void *, size_t> by_address;
};
Sizes &sizes() {
  static auto *made = new Sizes();
  return *made;
}

size_t forget_size(void *memory) {
  const std::scoped_lock lock(sizes().mutex);
  const auto found = sizes().by_address.find(memory);
  if (found == sizes().by_address.end()) return 0;
  const size_t size = found->second;
  sizes().by_address.erase(found);
  return size;
}

}  // namespace

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  *memory = nullptr;
  run_releases();
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "alignment " + std::to_string(alignment) + " is no power of two");
  }
  return guarded("aligned_alloc_host", [&] {
    const ::sycl::context &context = Runtime::start().default_context(device).context;
    const size_t size = size_bytes == 0 ? 1 : size_bytes;
    // One at a time: over the CUDA adapter, concurrent aligned allocations were seen to fail (H200, 2026.2.0).
    const std::scoped_lock lock(sizes().mutex);
    *memory =
        alignment == 0 ? ::sycl::malloc_host(size, context) : ::sycl::aligned_alloc_host(alignment, size, context);
    if (*memory != nullptr) {
      sizes().by_address.insert_or_assign(*memory, size);
      return SLUICE_SUCCESS;
    }
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "aligned_alloc_host gave no " + std::to_string(size) +
                                                " bytes aligned to " + std::to_string(alignment));
  });
}

// While the process exits the memory is left to its end.
sluice_result_t host_free(int32_t device, void *memory) {
  if (memory == nullptr || is_exiting()) return SLUICE_SUCCESS;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  words_gone(memory, forget_size(memory));
  return give_back([device, memory] {
    return guarded("free", [&] {
      ::sycl::free(memory, Runtime::start().default_context(device).context);
      return SLUICE_SUCCESS;
    });
  });
}

sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::sycl
