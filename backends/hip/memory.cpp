// SPDX-License-Identifier: BSD-3-Clause
// Owns staging memory: pages of this process (../staging_pages.h) that the runtime pins.
#include "pages.h"
#include "waits.h"

namespace sluice::backends::hip {

namespace {

sluice_result_t unpin(int32_t device, const Pages &pages) {
  const DeviceScope scope(device);
  const hipError_t native = g_runtime.hipHostUnregister(pages.base);
  // A device that was reset and a runtime that is shut down have let go of the pages themselves.
  const bool is_gone = native == hipErrorDeinitialized || native == hipErrorContextIsDestroyed ||
                       native == hipErrorHostMemoryNotRegistered;
  const sluice_result_t result = is_gone ? SLUICE_SUCCESS : translate("hipHostUnregister", native);
  if (result != SLUICE_SUCCESS) return result;  // pages that the device may still write to are kept
  return unmap_pages(pages);
}

}  // namespace

sluice_result_t pin_pages(const Pages &pages) {
  return translate("hipHostRegister", g_runtime.hipHostRegister(pages.base, pages.size_bytes,
                                                                hipHostRegisterPortable | hipHostRegisterMapped));
}

sluice_result_t give_back_pages(int32_t device, const Pages &pages) {
  words_gone(pages.base, pages.size_bytes);
  return give_back([device, pages] { return unpin(device, pages); });
}

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  *memory = nullptr;
  const sluice_result_t result = check_device(device);
  if (result != SLUICE_SUCCESS) return result;
  run_releases();
  const auto pin = [device](const Pages &pages) {
    const DeviceScope scope(device);
    return scope.result() == SLUICE_SUCCESS ? pin_pages(pages) : scope.result();
  };
  return acquire_pages(size_bytes, alignment, pin, memory);
}

sluice_result_t host_free(int32_t device, void *memory) {
  Pages pages = {};
  const sluice_result_t result = release_pages(memory, &pages);
  return result == SLUICE_SUCCESS ? give_back_pages(device, pages) : result;
}

// Not measured: no GPU of this vendor was at hand. The other driver's kind, on which its copies were fastest.
sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::hip
