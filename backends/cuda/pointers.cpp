// SPDX-License-Identifier: BSD-3-Clause
// What an address is: one question to the driver each time, so that the answer is exact at any moment.
#include <iterator>

#include "looks.h"
#include "module.h"

namespace sluice::backends::cuda {

namespace {

void set_host(sluice_pointer_info_t *info) {
  *info = {SLUICE_MEMORY_HOST, -1, 0};
}

// Keeps the context of memory on a device for find_context(); asked once for each device.
void note_context(int32_t device, CUdeviceptr address) {
  CUcontext context = nullptr;
  const CUresult native = g_driver.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address);
  if (native == CUDA_SUCCESS && context != nullptr) remember_context(device, context);
}

}  // namespace

// The call for several attributes answers for unknown addresses without an error, which is the cheap way: measured on
// H200 80 ns for host memory, while the call for one attribute takes 440 ns to refuse it
// (docs/measurements/2026-11-21-calls-h200).
sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
  unsigned type = 0;
  unsigned is_managed = 0;
  int device = -1;
  unsigned long long buffer_id = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_BUFFER_ID};
  void *values[] = {&type, &is_managed, &device, &buffer_id};
  const CUresult native = g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values,
                                                          reinterpret_cast<CUdeviceptr>(address));
  if (native != CUDA_SUCCESS) {
    set_host(info);
    // No driver in use, no context, or an address that it refuses to think about: nothing of the driver's is there.
    const bool is_unknown = native == CUDA_ERROR_NOT_INITIALIZED || native == CUDA_ERROR_DEINITIALIZED ||
                            native == CUDA_ERROR_INVALID_CONTEXT || native == CUDA_ERROR_INVALID_VALUE;
    return is_unknown ? SLUICE_SUCCESS : translate("cuPointerGetAttributes", native);
  }
  if (is_managed != 0) {
    *info = {SLUICE_MEMORY_SHARED, device, buffer_id};
    if (g_sync_mode != SyncMode::kNone) wait_for_program(address);
  } else if (type == CU_MEMORYTYPE_DEVICE) {
    *info = {SLUICE_MEMORY_DEVICE, device, buffer_id};
    if (!is_context_known(device)) note_context(device, reinterpret_cast<CUdeviceptr>(address));
    if (settle(address, buffer_id)) {
      info->allocation_id = 0;
    } else {
      note_look(address, device, buffer_id);
    }
    if (g_sync_mode != SyncMode::kNone) wait_for_program(address);
  } else if (type == CU_MEMORYTYPE_HOST) {
    *info = {SLUICE_MEMORY_PINNED, device, buffer_id};
  } else {
    set_host(info);
  }
  return SLUICE_SUCCESS;
}

Reach reach_of(const void *address, size_t size_bytes, int32_t device) {
  unsigned type = 0;
  unsigned is_managed = 0;
  int owner = -1;
  CUdeviceptr begin = 0;
  size_t range_bytes = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void *values[] = {&type, &is_managed, &owner, &begin, &range_bytes};
  const auto first = reinterpret_cast<CUdeviceptr>(address);
  // Refused: the copy itself will say why, in the driver's words.
  if (g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values, first) != CUDA_SUCCESS) {
    return Reach::kOther;
  }
  if (is_managed != 0) return Reach::kOther;
  if (type == 0 || type == CU_MEMORYTYPE_HOST) return Reach::kCpu;
  const bool is_inside = first >= begin && first - begin <= range_bytes && size_bytes <= range_bytes - (first - begin);
  return type == CU_MEMORYTYPE_DEVICE && owner == device && is_inside ? Reach::kDevice : Reach::kOther;
}

// The driver knows the memory of all contexts.
sluice_result_t register_context(void * /*context*/) {
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::cuda
