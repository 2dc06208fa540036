// SPDX-License-Identifier: BSD-3-Clause
// Memory of the emulated device as Level Zero gives it out: device memory that the CPU cannot touch, host and shared
// memory, and handles by which other processes map it.
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "driver.h"
#include "runtime/runtime.h"

namespace sluice::emulated_driver {
namespace {

// For which device or tile the memory that begins there was made; of what other processes made: for which it was
// opened.
struct Owners {
  std::mutex mutex;
  std::unordered_map<const void *, ze_device_handle_t> by_begin;
};

Owners &owners() {
  static auto *made = new Owners();
  return *made;
}

void note_owner(const void *begin, ze_device_handle_t device) {
  const std::scoped_lock lock(owners().mutex);
  owners().by_begin[begin] = device;
}

void forget_owner(const void *begin) {
  const std::scoped_lock lock(owners().mutex);
  owners().by_begin.erase(begin);
}

// kind: PINNED, DEVICE or SHARED.
ze_result_t allocate(emu_memory_kind_t kind, ze_device_handle_t device, size_t size_bytes, size_t alignment,
                     void **memory) {
  if (size_bytes == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  if ((alignment & (alignment - 1)) != 0) return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
  if (const ze_result_t result = use_device(device); result != ZE_RESULT_SUCCESS) return result;
  emurt::Runtime *runtime = nullptr;
  emu_result_t result = emurt::Runtime::enter(&runtime);
  int32_t index = 0;
  if (result == EMU_SUCCESS) result = runtime->current_device(&index);
  if (result == EMU_SUCCESS) result = runtime->memory().allocate(kind, index, size_bytes, alignment, memory);
  if (result != EMU_SUCCESS) return result_of(result);
  runtime->is_active(index).store(true);
  note_owner(*memory, device);
  return ZE_RESULT_SUCCESS;
}

ze_result_t alloc_device(ze_context_handle_t /*context*/, const ze_device_mem_alloc_desc_t * /*desc*/,
                         size_t size_bytes, size_t alignment, ze_device_handle_t device, void **memory) noexcept {
  return guarded([&] { return allocate(EMU_MEMORY_DEVICE, device, size_bytes, alignment, memory); });
}

ze_result_t alloc_host(ze_context_handle_t /*context*/, const ze_host_mem_alloc_desc_t * /*desc*/, size_t size_bytes,
                       size_t alignment, void **memory) noexcept {
  return guarded([&] { return allocate(EMU_MEMORY_PINNED, nullptr, size_bytes, alignment, memory); });
}

ze_result_t alloc_shared(ze_context_handle_t /*context*/, const ze_device_mem_alloc_desc_t * /*device_desc*/,
                         const ze_host_mem_alloc_desc_t * /*host_desc*/, size_t size_bytes, size_t alignment,
                         ze_device_handle_t device, void **memory) noexcept {
  return guarded([&] { return allocate(EMU_MEMORY_SHARED, device, size_bytes, alignment, memory); });
}

ze_result_t free_memory(ze_context_handle_t /*context*/, void *memory) noexcept {
  return guarded([&] {
    const emu_result_t result = emu_free(memory);
    if (result == EMU_SUCCESS) forget_owner(memory);
    return result_of(result);
  });
}

ze_result_t free_memory_later(ze_context_handle_t context, const ze_memory_free_ext_desc_t * /*desc*/,
                              void *memory) noexcept {
  return free_memory(context, memory);
}

ze_memory_type_t type_of(emu_memory_kind_t kind) noexcept {
  switch (kind) {
    case EMU_MEMORY_PINNED:
      return ZE_MEMORY_TYPE_HOST;
    case EMU_MEMORY_DEVICE:
      return ZE_MEMORY_TYPE_DEVICE;
    case EMU_MEMORY_SHARED:
      return ZE_MEMORY_TYPE_SHARED;
    case EMU_MEMORY_HOST:
    case EMU_MEMORY_FREED:
      break;
  }
  return ZE_MEMORY_TYPE_UNKNOWN;
}

ze_result_t get_properties(ze_context_handle_t /*context*/, const void *address,
                           ze_memory_allocation_properties_t *properties, ze_device_handle_t *device) noexcept {
  return guarded([&] {
    emu_pointer_info_t info{};
    if (const emu_result_t result = emu_pointer_query(address, &info); result != EMU_SUCCESS) return result_of(result);
    properties->type = type_of(info.kind);
    const bool is_known = properties->type != ZE_MEMORY_TYPE_UNKNOWN;
    properties->id = is_known ? info.allocation_id : 0;
    properties->pageSize = is_known ? static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
    if (device != nullptr) {
      const std::scoped_lock lock(owners().mutex);
      const auto found = owners().by_begin.find(info.base);
      *device = is_known && found != owners().by_begin.end() ? found->second : nullptr;
    }
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t get_range(ze_context_handle_t /*context*/, const void *address, void **base, size_t *size_bytes) noexcept {
  emu_pointer_info_t info{};
  const emu_result_t result = emu_pointer_query(address, &info);
  if (result != EMU_SUCCESS) return result_of(result);
  if (type_of(info.kind) == ZE_MEMORY_TYPE_UNKNOWN) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (base != nullptr) *base = info.base;
  if (size_bytes != nullptr) *size_bytes = info.size_bytes;
  return ZE_RESULT_SUCCESS;
}

// ---- memory of other processes ----

// What is in a handle: first a descriptor, which whoever opens the handle has replaced by one of its own for that file.
// It is the device's own descriptor, which stays, so nobody has to give it back.
struct Handle {
  int32_t descriptor;
  int32_t device;
  uint64_t offset;
  uint64_t magic;
  uint64_t size_bytes;
  uint64_t id;
};
static_assert(sizeof(Handle) <= ZE_MAX_IPC_HANDLE_SIZE);
constexpr uint64_t kMagic = 0x5A45'454D;

// Whether a fault is to strike here (emu_set_fault).
bool is_struck(emurt::Runtime &runtime, emurt::FaultPoint point) {
  uint64_t event = 0;
  return runtime.faults().strikes(point, &event);
}

ze_result_t get_handle(ze_context_handle_t /*context*/, const void *address, ze_ipc_mem_handle_t *handle) noexcept {
  return guarded([&] {
    emurt::Runtime *runtime = nullptr;
    emurt::ExportedMemory exported;
    emu_result_t result = emurt::Runtime::enter(&runtime);
    if (result == EMU_SUCCESS && is_struck(*runtime, emurt::FaultPoint::kIpcExport)) result = EMU_ERROR_NOT_SUPPORTED;
    if (result == EMU_SUCCESS) result = runtime->memory().export_allocation(address, &exported);
    if (result != EMU_SUCCESS) return result_of(result);
    const Handle made{exported.memory_descriptor, exported.device,       exported.file_offset, kMagic,
                      exported.size_bytes,        exported.allocation_id};
    *handle = {};
    std::memcpy(handle->data, &made, sizeof made);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t open_handle(ze_context_handle_t /*context*/, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
                        ze_ipc_memory_flags_t /*flags*/, void **memory) noexcept {
  return guarded([&] {
    Handle told{};
    std::memcpy(&told, handle.data, sizeof told);
    if (told.magic != kMagic) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (const ze_result_t result = use_device(device); result != ZE_RESULT_SUCCESS) return result;
    emurt::Runtime *runtime = nullptr;
    emu_result_t result = emurt::Runtime::enter(&runtime);
    if (result == EMU_SUCCESS && is_struck(*runtime, emurt::FaultPoint::kIpcOpen)) result = EMU_ERROR_NOT_SUPPORTED;
    if (result != EMU_SUCCESS) return result_of(result);
    emurt::ExportedMemory exported;
    exported.memory_descriptor = told.descriptor;
    exported.device = told.device;
    exported.file_offset = told.offset;
    exported.size_bytes = machine()->opens_half ? told.size_bytes / 2 : told.size_bytes;
    exported.allocation_id = told.id;
    const int32_t owner = told.device >= 0 && told.device < runtime->n_devices() ? told.device : 0;
    result = runtime->memory().import_allocation(exported, owner, memory);
    if (result != EMU_SUCCESS) return result_of(result);
    note_owner(*memory, device);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t close_handle(ze_context_handle_t /*context*/, const void *memory) noexcept {
  return guarded([&] {
    const emu_result_t result = emu_ipc_close(const_cast<void *>(memory));
    if (result == EMU_SUCCESS) forget_owner(memory);
    return result_of(result);
  });
}

}  // namespace

void fill(ze_mem_dditable_t *table) noexcept {
  table->pfnAllocDevice = alloc_device;
  table->pfnAllocHost = alloc_host;
  table->pfnAllocShared = alloc_shared;
  table->pfnFree = free_memory;
  table->pfnFreeExt = free_memory_later;
  table->pfnGetAllocProperties = get_properties;
  table->pfnGetAddressRange = get_range;
  table->pfnGetIpcHandle = get_handle;
  table->pfnOpenIpcHandle = open_handle;
  table->pfnCloseIpcHandle = close_handle;
}

}  // namespace sluice::emulated_driver
