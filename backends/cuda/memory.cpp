// SPDX-License-Identifier: BSD-3-Clause
// Owns staging memory: pages of this process (../staging_pages.h) that the driver pins.
#include "../staging_pages.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

// A device that was reset and a driver that is shut down have let go of the pages themselves.
sluice_result_t give_back(const Pages &pages) {
  const CUresult native = g_driver.cuMemHostUnregister(pages.base);
  const bool is_gone = native == CUDA_ERROR_DEINITIALIZED || native == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                       native == CUDA_ERROR_INVALID_CONTEXT || native == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  const sluice_result_t result = is_gone ? SLUICE_SUCCESS : translate("cuMemHostUnregister", native);
  if (result != SLUICE_SUCCESS) return result;  // pages that the device may still write to are kept
  return unmap_pages(pages);
}

}  // namespace

sluice_result_t pages_acquire(size_t size_bytes, size_t alignment, void **memory) {
  run_releases();
  const auto pin = [](const Pages &pages) {
    return translate("cuMemHostRegister",
                     g_driver.cuMemHostRegister(pages.base, pages.size_bytes,
                                                CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
  };
  return acquire_pages(size_bytes, alignment, pin, memory);
}

sluice_result_t pages_release(void *memory) {
  Pages pages = {};
  const sluice_result_t result = release_pages(memory, &pages);
  if (result != SLUICE_SUCCESS) return result;
  words_gone(pages.base, pages.size_bytes);
  {
    const Quiet quiet;
    if (quiet.is_kept()) return give_back(pages);
  }
  release_later([pages] {
    if (give_back(pages) != SLUICE_SUCCESS) log_line(1, error_text());
  });
  return SLUICE_SUCCESS;
}

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  return in_context_of(device, [&] { return pages_acquire(size_bytes, alignment, memory); });
}

sluice_result_t host_free(int32_t device, void *memory) {
  CUcontext context = nullptr;
  bool is_retained = false;
  if (find_context(device, &context, &is_retained) != SLUICE_SUCCESS) return pages_release(memory);
  sluice_result_t result = SLUICE_SUCCESS;
  {
    const ContextScope scope(context);
    result = scope.result();
    if (result == SLUICE_SUCCESS) result = pages_release(memory);
  }
  release_context(device, is_retained);
  return result;
}

// Page-aligned either way; docs/measurements/2026-11-21-calls-h200 has the comparison with malloc (pageable copies go
// through the driver's own staging: 8 us more at 32 KiB, 3 times the time at 1 MiB).
sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::cuda
