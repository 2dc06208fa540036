// SPDX-License-Identifier: BSD-3-Clause
// The `program` group: what a program does with the vendor's runtime, whose own calls do the same underneath.
#include <string>

#include "module.h"

namespace sluice::backends::cuda {

namespace {

// Like the vendor's runtime: a thread that has chosen no device works on device 0.
sluice_result_t ensure_current() {
  CUcontext current = nullptr;
  const CUresult native = g_driver.cuCtxGetCurrent(&current);
  if (native == CUDA_SUCCESS && current != nullptr) return SLUICE_SUCCESS;
  if (native != CUDA_SUCCESS && native != CUDA_ERROR_NOT_INITIALIZED) return translate("cuCtxGetCurrent", native);
  return program_set_device(0);
}

}  // namespace

sluice_result_t program_set_device(int32_t device) {
  sluice_result_t result = check_device(device);
  if (result != SLUICE_SUCCESS) return result;
  CUdevice ordinal = 0;
  result = translate("cuDeviceGet", g_driver.cuDeviceGet(&ordinal, device));
  if (result != SLUICE_SUCCESS) return result;
  CUcontext context = nullptr;
  // Retained for the life of the process, as the vendor's runtime does; more often does no harm.
  result = translate("cuDevicePrimaryCtxRetain", g_driver.cuDevicePrimaryCtxRetain(&context, ordinal));
  if (result != SLUICE_SUCCESS) return result;
  return translate("cuCtxSetCurrent", g_driver.cuCtxSetCurrent(context));
}

sluice_result_t program_device(int32_t *device) {
  sluice_result_t result = ensure_current();
  CUdevice ordinal = 0;
  if (result == SLUICE_SUCCESS) result = translate("cuCtxGetDevice", g_driver.cuCtxGetDevice(&ordinal));
  if (result == SLUICE_SUCCESS) *device = static_cast<int32_t>(ordinal);
  return result;
}

sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory) {
  *memory = nullptr;
  const sluice_result_t result = ensure_current();
  if (result != SLUICE_SUCCESS) return result;
  CUdeviceptr address = 0;
  const size_t size = size_bytes == 0 ? 1 : size_bytes;
  switch (kind) {
    case SLUICE_MEMORY_DEVICE: {
      if (g_program_memory != ProgramMemory::kPlain) return special_alloc(size, memory);
      const sluice_result_t done = translate("cuMemAlloc", g_driver.cuMemAlloc(&address, size));
      *memory = reinterpret_cast<void *>(address);
      return done;
    }
    case SLUICE_MEMORY_SHARED: {
      const sluice_result_t done =
          translate("cuMemAllocManaged", g_driver.cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL));
      *memory = reinterpret_cast<void *>(address);
      return done;
    }
    case SLUICE_MEMORY_PINNED:
      return translate("cuMemHostAlloc", g_driver.cuMemHostAlloc(memory, size, CU_MEMHOSTALLOC_PORTABLE));
    case SLUICE_MEMORY_HOST:
    case SLUICE_MEMORY_FREED:
      break;
  }
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "program_alloc makes pinned, device and shared memory only");
}

sluice_result_t program_free(void *memory) {
  if (memory == nullptr) return SLUICE_SUCCESS;
  sluice_result_t result = ensure_current();
  if (result != SLUICE_SUCCESS) return result;
  if (special_free(memory, &result)) return result;
  sluice_pointer_info_t info = {};
  result = query_pointer(memory, &info);
  if (result != SLUICE_SUCCESS) return result;
  if (info.kind == SLUICE_MEMORY_PINNED) return translate("cuMemFreeHost", g_driver.cuMemFreeHost(memory));
  return translate("cuMemFree", g_driver.cuMemFree(reinterpret_cast<CUdeviceptr>(memory)));
}

sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes) {
  const sluice_result_t result = ensure_current();
  if (result != SLUICE_SUCCESS || size_bytes == 0) return result;
  // The direction is found from the addresses, as cudaMemcpyDefault does with this same call.
  return translate("cuMemcpy", g_driver.cuMemcpy(reinterpret_cast<CUdeviceptr>(dst), reinterpret_cast<CUdeviceptr>(src),
                                                 size_bytes));
}

sluice_result_t program_synchronize() {
  const sluice_result_t result = ensure_current();
  return result == SLUICE_SUCCESS ? translate("cuCtxSynchronize", g_driver.cuCtxSynchronize()) : result;
}

}  // namespace sluice::backends::cuda
