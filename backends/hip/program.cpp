// SPDX-License-Identifier: BSD-3-Clause
// The `program` group: what a program does with the vendor's runtime.
#include <string>

#include "module.h"

namespace sluice::backends::hip {

sluice_result_t program_set_device(int32_t device) {
  const sluice_result_t result = check_device(device);
  return result == SLUICE_SUCCESS ? translate("hipSetDevice", g_runtime.hipSetDevice(device)) : result;
}

sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory) {
  *memory = nullptr;
  const size_t size = size_bytes == 0 ? 1 : size_bytes;
  switch (kind) {
    case SLUICE_MEMORY_DEVICE:
      return translate("hipMalloc", g_runtime.hipMalloc(memory, size));
    case SLUICE_MEMORY_SHARED:
      return translate("hipMallocManaged", g_runtime.hipMallocManaged(memory, size, hipMemAttachGlobal));
    case SLUICE_MEMORY_PINNED:
      return translate("hipHostMalloc", g_runtime.hipHostMalloc(memory, size, hipHostMallocPortable));
    case SLUICE_MEMORY_HOST:
    case SLUICE_MEMORY_FREED:
      break;
  }
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "program_alloc makes pinned, device and shared memory only");
}

sluice_result_t program_free(void *memory) {
  if (memory == nullptr) return SLUICE_SUCCESS;
  sluice_pointer_info_t info = {};
  const sluice_result_t result = query_pointer(memory, &info);
  if (result != SLUICE_SUCCESS) return result;
  if (info.kind == SLUICE_MEMORY_PINNED) return translate("hipHostFree", g_runtime.hipHostFree(memory));
  return translate("hipFree", g_runtime.hipFree(memory));
}

sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes) {
  if (size_bytes == 0) return SLUICE_SUCCESS;
  return translate("hipMemcpy", g_runtime.hipMemcpy(dst, src, size_bytes, hipMemcpyDefault));
}

sluice_result_t program_synchronize() {
  return translate("hipDeviceSynchronize", g_runtime.hipDeviceSynchronize());
}

}  // namespace sluice::backends::hip
