// SPDX-License-Identifier: BSD-3-Clause
// The C functions about devices, memory, faults and profiles.
#include "runtime/api.h"

namespace emurt {
namespace {

// The runtime's copy of a program's request for memory of the current device.
emu_result_t allocate(Runtime &runtime, emu_memory_kind_t kind, size_t size_bytes, size_t alignment, void **memory) {
  int32_t device = 0;
  const emu_result_t result = runtime.current_device(&device);
  if (result != EMU_SUCCESS) return result;
  const FaultPoint point = kind == EMU_MEMORY_PINNED ? FaultPoint::kHostAlloc : FaultPoint::kAlloc;
  uint64_t event = 0;
  if (runtime.faults().strikes(point, &event)) {
    return fail(EMU_ERROR_OUT_OF_MEMORY, "fault injected into {} {}", FaultPlan::name(point), event);
  }
  runtime.is_active(device).store(true, std::memory_order_relaxed);
  return runtime.memory().allocate(kind, device, size_bytes, alignment, memory);
}

}  // namespace
}  // namespace emurt

using emurt::fail;
using emurt::in_runtime;
using emurt::Runtime;

extern "C" {

const char *emu_last_error_text(void) {
  return emurt::last_error();
}

emu_result_t emu_device_count(int32_t *count) {
  return in_runtime([&](Runtime &runtime) {
    if (count == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_device_count: null pointer");
    *count = runtime.n_devices();
    return EMU_SUCCESS;
  });
}

emu_result_t emu_device_query(int32_t device, emu_device_info_t *properties) {
  return in_runtime([&](Runtime &runtime) {
    const emu_result_t result = runtime.check_device(device);
    if (result != EMU_SUCCESS) return result;
    if (properties == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_device_query: null pointer");
    *properties = runtime.properties(device);
    return EMU_SUCCESS;
  });
}

emu_result_t emu_set_device(int32_t device) {
  return in_runtime([&](Runtime &runtime) { return runtime.set_current_device(device); });
}

emu_result_t emu_get_device(int32_t *device) {
  return in_runtime([&](Runtime &runtime) {
    if (device == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_get_device: null pointer");
    return runtime.current_device(device);
  });
}

emu_result_t emu_device_is_active(int32_t device, int *is_active) {
  return in_runtime([&](Runtime &runtime) {
    const emu_result_t result = runtime.check_device(device);
    if (result != EMU_SUCCESS) return result;
    if (is_active == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_device_is_active: null pointer");
    *is_active = runtime.is_active(device).load(std::memory_order_relaxed) ? 1 : 0;
    return EMU_SUCCESS;
  });
}

emu_result_t emu_device_synchronize(void) {
  return in_runtime([&](Runtime &runtime) {
    int32_t device = 0;
    const emu_result_t result = runtime.current_device(&device);
    if (result == EMU_SUCCESS) runtime.drain_device(device);
    return result;
  });
}

emu_result_t emu_malloc_device(size_t size_bytes, void **memory) {
  return in_runtime(
      [&](Runtime &runtime) { return emurt::allocate(runtime, EMU_MEMORY_DEVICE, size_bytes, 0, memory); });
}

emu_result_t emu_malloc_shared(size_t size_bytes, void **memory) {
  return in_runtime(
      [&](Runtime &runtime) { return emurt::allocate(runtime, EMU_MEMORY_SHARED, size_bytes, 0, memory); });
}

emu_result_t emu_malloc_host(size_t size_bytes, size_t alignment, void **memory) {
  return in_runtime(
      [&](Runtime &runtime) { return emurt::allocate(runtime, EMU_MEMORY_PINNED, size_bytes, alignment, memory); });
}

emu_result_t emu_free(void *memory) {
  return in_runtime([&](Runtime &runtime) { return runtime.memory().free(memory); });
}

emu_result_t emu_host_register(void *memory, size_t size_bytes) {
  return in_runtime([&](Runtime &runtime) {
    if (memory != nullptr && size_bytes > 0 && runtime.copies().registered().add(memory, size_bytes)) {
      return EMU_SUCCESS;
    }
    return fail(EMU_ERROR_INVALID_VALUE, "emu_host_register: {} bytes at {}: nothing, or in part registered already",
                size_bytes, memory);
  });
}

emu_result_t emu_host_unregister(void *memory) {
  return in_runtime([&](Runtime &runtime) {
    if (runtime.copies().registered().remove(memory)) return EMU_SUCCESS;
    return fail(EMU_ERROR_INVALID_VALUE, "emu_host_unregister: {} was not registered", memory);
  });
}

emu_result_t emu_pointer_query(const void *address, emu_pointer_info_t *info) {
  return in_runtime([&](Runtime &runtime) {
    if (info == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_pointer_query: null pointer");
    emurt::AddressEntry entry;
    if (!runtime.memory().query(address, &entry)) {
      *info = {EMU_MEMORY_HOST, -1, 0, nullptr, 0};
      return EMU_SUCCESS;
    }
    *info = {entry.kind, entry.device, entry.allocation_id, reinterpret_cast<void *>(entry.begin),
             entry.end - entry.begin};
    return EMU_SUCCESS;
  });
}

emu_result_t emu_memcpy(void *dst, const void *src, size_t size_bytes) {
  return in_runtime([&](Runtime &runtime) {
    const emu_copy_t copy{dst, src, size_bytes};
    std::vector<emurt::CheckedCopy> checked;
    const emu_result_t result = runtime.copies().check(&copy, 1, &checked);
    return result == EMU_SUCCESS ? runtime.copies().run(checked, emurt::CopyOrigin::kProgram) : result;
  });
}

emu_result_t emu_set_fault(const char *specification) {
  return in_runtime([&](Runtime &runtime) {
    return runtime.faults().set("emu_set_fault", specification == nullptr ? "" : specification);
  });
}

emu_result_t emu_set_profile(const char *name_or_path) {
  return in_runtime([&](Runtime &runtime) { return runtime.set_profile(name_or_path); });
}

emu_result_t emu_device_memory_in_use(int32_t device, uint64_t *size_bytes) {
  return in_runtime([&](Runtime &runtime) {
    const emu_result_t result = runtime.check_device(device);
    if (result != EMU_SUCCESS) return result;
    if (size_bytes == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_device_memory_in_use: null pointer");
    *size_bytes = runtime.memory().bytes_in_use(device);
    return EMU_SUCCESS;
  });
}

}  // extern "C"
