// SPDX-License-Identifier: BSD-3-Clause
// What a program does with the runtime: devices, memory, the blocking copy.
#include <cstring>

#include "allocations.h"
#include "module.h"

namespace sluice::backends::opencl {
namespace {

template <size_t n>
void store(char (&to)[n], const std::string &text) {
  to[text.copy(to, n - 1)] = '\0';
}

std::string device_text(cl_device_id device, cl_device_info what) {
  char text[256] = "";
  return g_functions.clGetDeviceInfo(device, what, sizeof text, text, nullptr) == CL_SUCCESS ? text : "unknown";
}

std::string platform_text(cl_platform_id platform) {
  char text[256] = "";
  const cl_int native = g_functions.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, nullptr);
  return native == CL_SUCCESS ? text : "unknown platform";
}

}  // namespace

int32_t device_count() {
  return static_cast<int32_t>(devices().size());
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  if (device < 0 || device >= device_count()) {
    return fail(SLUICE_ERROR_NO_DEVICE, "there is no device " + std::to_string(device));
  }
  const Device &asked = devices()[static_cast<size_t>(device)];
  *info = {};
  store(info->name, device_text(asked.id, CL_DEVICE_NAME));
  store(info->runtime, platform_text(asked.platform) + ", driver " + device_text(asked.id, CL_DRIVER_VERSION));
  info->numa_node = -1;
  cl_ulong size_bytes = 0;
  if (g_functions.clGetDeviceInfo(asked.id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof size_bytes, &size_bytes, nullptr) ==
      CL_SUCCESS) {
    info->memory_bytes = size_bytes;
  }
  return SLUICE_SUCCESS;
}

uint32_t device_traits(int32_t device) {
  const bool is_known = device >= 0 && device < device_count();
  return is_known && devices()[static_cast<size_t>(device)].is_cpu ? static_cast<uint32_t>(SLUICE_DEVICE_COPIES_BY_CPU)
                                                                   : 0U;
}

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  const sluice_result_t known = program_set_device(device);
  return known == SLUICE_SUCCESS ? allocate_mapped(current_device(), size_bytes, alignment, memory) : known;
}

sluice_result_t host_free(int32_t /*device*/, void *memory) {
  return program_free(memory);
}

sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory) {
  *memory = nullptr;
  Device *device = current_device();
  if (device == nullptr) return SLUICE_ERROR_NATIVE;
  switch (kind) {
    case SLUICE_MEMORY_PINNED:
      return allocate_mapped(device, size_bytes, 0, memory);
    case SLUICE_MEMORY_DEVICE:
    case SLUICE_MEMORY_SHARED:
      return allocate_usm(device, kind, size_bytes, memory);
    case SLUICE_MEMORY_HOST:
    case SLUICE_MEMORY_FREED:
      break;
  }
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "program_alloc makes pinned, device and shared memory only");
}

sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes) {
  Device *device = current_device();
  if (device == nullptr) return SLUICE_ERROR_NATIVE;
  if (size_bytes == 0) return SLUICE_SUCCESS;
  if (device->enqueue_memcpy == nullptr) {
    // Without USM all memory is mapped: what a program does with it.
    std::memcpy(dst, src, size_bytes);
    return SLUICE_SUCCESS;
  }
  return translate("clEnqueueMemcpyINTEL",
                   device->enqueue_memcpy(device->queue, CL_TRUE, dst, src, size_bytes, 0, nullptr, nullptr));
}

sluice_result_t program_synchronize() {
  const Device *device = current_device();
  return device == nullptr ? SLUICE_ERROR_NATIVE : translate("clFinish", g_functions.clFinish(device->queue));
}

}  // namespace sluice::backends::opencl
