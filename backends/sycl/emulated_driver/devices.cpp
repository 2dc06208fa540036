// SPDX-License-Identifier: BSD-3-Clause
// The driver, its devices and tiles, and what they say of themselves; contexts, which hold nothing.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "driver.h"

namespace sluice::emulated_driver {
namespace {

constexpr ze_api_version_t kApiVersion = static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 9));
constexpr uint32_t kDriverVersion = 0x01030001;  // another one where native code has another form: it is cached
constexpr uint32_t kVendor = 0x8086;
constexpr uint64_t kTimerNanoseconds = 1;

// What the driver is one of.
struct Driver {
  int unused = 0;
} g_driver;

Device &device_of(ze_device_handle_t handle) noexcept {
  return *object<Device>(handle);
}

// ---- the driver ----

// A trace that was asked for and cannot be written is no run that anybody wants.
ze_result_t init(ze_init_flags_t /*flags*/) noexcept {
  return guarded([] {
    if (machine() == nullptr) return ZE_RESULT_ERROR_UNINITIALIZED;
    static const bool is_traced = machine()->trace.empty() || start_trace(machine()->trace);
    return is_traced ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
  });
}

ze_result_t driver_get(uint32_t *count, ze_driver_handle_t *drivers) noexcept {
  const bool is_there = machine() != nullptr && machine()->n_listed > 0;
  return list(is_there ? 1 : 0, count, drivers,
              [](uint32_t, ze_driver_handle_t *out) { *out = handle_of<ze_driver_handle_t>(&g_driver); });
}

ze_result_t driver_api_version(ze_driver_handle_t /*driver*/, ze_api_version_t *version) noexcept {
  *version = kApiVersion;
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_properties(ze_driver_handle_t /*driver*/, ze_driver_properties_t *properties) noexcept {
  properties->driverVersion = kDriverVersion;
  std::memset(properties->uuid.id, 'S', sizeof properties->uuid.id);
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_ipc_properties(ze_driver_handle_t /*driver*/, ze_driver_ipc_properties_t *properties) noexcept {
  properties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL;
  return ZE_RESULT_SUCCESS;
}

struct Extension {
  const char *name;
  uint32_t version;
};
constexpr Extension kExtensions[] = {{ZE_GLOBAL_OFFSET_EXP_NAME, ZE_GLOBAL_OFFSET_EXP_VERSION_1_0}};

ze_result_t driver_extensions(ze_driver_handle_t /*driver*/, uint32_t *count,
                              ze_driver_extension_properties_t *extensions) noexcept {
  return list(static_cast<uint32_t>(std::size(kExtensions)), count, extensions,
              [](uint32_t i, ze_driver_extension_properties_t *out) {
                std::snprintf(out->name, sizeof out->name, "%s", kExtensions[i].name);
                out->version = kExtensions[i].version;
              });
}

ze_result_t driver_extension_function(ze_driver_handle_t /*driver*/, const char * /*name*/, void **function) noexcept {
  if (function != nullptr) *function = nullptr;
  return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

// ---- devices ----

ze_result_t device_get(ze_driver_handle_t /*driver*/, uint32_t *count, ze_device_handle_t *devices) noexcept {
  return list(static_cast<uint32_t>(machine()->n_listed), count, devices,
              [](uint32_t i, ze_device_handle_t *out) { *out = handle_of<ze_device_handle_t>(machine()->listed[i]); });
}

ze_result_t device_sub_devices(ze_device_handle_t handle, uint32_t *count, ze_device_handle_t *devices) noexcept {
  const Device &device = device_of(handle);
  const bool has_tiles = device.tile < 0 && machine()->n_tiles > 1;
  return list(has_tiles ? static_cast<uint32_t>(machine()->n_tiles) : 0, count, devices,
              [&](uint32_t i, ze_device_handle_t *out) {
                *out = handle_of<ze_device_handle_t>(&machine()->tiles[device.index][i]);
              });
}

ze_result_t device_properties(ze_device_handle_t handle, ze_device_properties_t *out) noexcept {
  const Device &device = device_of(handle);
  emu_device_info_t info{};
  if (const emu_result_t result = emu_device_query(device.index, &info); result != EMU_SUCCESS)
    return result_of(result);
  out->type = ZE_DEVICE_TYPE_GPU;
  out->vendorId = kVendor;
  out->deviceId = 0x0bd5;
  out->flags = machine()->is_integrated ? ZE_DEVICE_PROPERTY_FLAG_INTEGRATED : 0;
  if (root_of(device) != nullptr) out->flags |= ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
  out->subdeviceId = device.tile >= 0 ? static_cast<uint32_t>(device.tile) : 0;
  out->coreClockRate = 1600;
  out->maxMemAllocSize = info.memory_bytes;
  out->maxHardwareContexts = 64;
  out->maxCommandQueuePriority = 0;
  out->numThreadsPerEU = 8;
  out->physicalEUSimdWidth = 16;
  out->numEUsPerSubslice = 8;
  out->numSubslicesPerSlice = 8;
  out->numSlices = 1;
  out->timerResolution = kTimerNanoseconds;
  out->timestampValidBits = 64;
  out->kernelTimestampValidBits = 64;
  std::memset(out->uuid.id, 0, sizeof out->uuid.id);
  std::memcpy(out->uuid.id, "sluice-emulated", sizeof "sluice-emulated" - 1);
  out->uuid.id[sizeof out->uuid.id - 1] = static_cast<uint8_t>(device.index * 4 + device.tile + 1);
  std::snprintf(out->name, sizeof out->name, "Emulated Intel GPU (%s)", info.name);
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_compute_properties(ze_device_handle_t /*device*/, ze_device_compute_properties_t *out) noexcept {
  constexpr uint32_t kMostItems = 1024;
  out->maxTotalGroupSize = kMostItems;
  out->maxGroupSizeX = out->maxGroupSizeY = out->maxGroupSizeZ = kMostItems;
  out->maxGroupCountX = out->maxGroupCountY = out->maxGroupCountZ = UINT32_MAX;
  out->maxSharedLocalMemory = 65536;
  out->numSubGroupSizes = 3;
  out->subGroupSizes[0] = 8;
  out->subGroupSizes[1] = 16;
  out->subGroupSizes[2] = 32;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_module_properties(ze_device_handle_t /*device*/, ze_device_module_properties_t *out) noexcept {
  constexpr auto kFloat =
      ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN | ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST | ZE_DEVICE_FP_FLAG_FMA;
  out->spirvVersionSupported = ZE_MAKE_VERSION(1, 4);
  out->flags = ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  out->fp32flags = kFloat;
  out->fp64flags = kFloat;
  out->fp16flags = 0;
  out->maxArgumentsSize = 2048;
  out->printfBufferSize = 1 << 20;
  return ZE_RESULT_SUCCESS;
}

// Ordinal 0: kernels and copies; ordinal 1: the main copy engine, which is one; ordinal 2: those of the links.
ze_result_t device_queue_groups(ze_device_handle_t /*device*/, uint32_t *count,
                                ze_command_queue_group_properties_t *groups) noexcept {
  return list(3, count, groups, [](uint32_t i, ze_command_queue_group_properties_t *out) {
    constexpr size_t kLongestFill = 128;
    out->flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    if (i == 0) {
      out->flags |=
          ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
    }
    out->maxMemoryFillPatternSize = kLongestFill;
    out->numQueues = i == 1 ? 1 : 4;
  });
}

ze_result_t device_memory_properties(ze_device_handle_t handle, uint32_t *count,
                                     ze_device_memory_properties_t *memories) noexcept {
  emu_device_info_t info{};
  const emu_result_t result = emu_device_query(device_of(handle).index, &info);
  if (result != EMU_SUCCESS) return result_of(result);
  return list(1, count, memories, [&](uint32_t, ze_device_memory_properties_t *out) {
    out->flags = 0;
    out->maxClockRate = 3200;
    out->maxBusWidth = 64;
    out->totalSize = info.memory_bytes;
    std::snprintf(out->name, sizeof out->name, "emulated");
  });
}

ze_result_t device_memory_access(ze_device_handle_t /*device*/, ze_device_memory_access_properties_t *out) noexcept {
  constexpr auto kAll = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
  out->hostAllocCapabilities = kAll;
  out->deviceAllocCapabilities = kAll;
  out->sharedSingleDeviceAllocCapabilities = kAll;
  out->sharedCrossDeviceAllocCapabilities = kAll;
  out->sharedSystemAllocCapabilities = machine()->reads_system_memory ? kAll : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_cache_properties(ze_device_handle_t /*device*/, uint32_t *count,
                                    ze_device_cache_properties_t *caches) noexcept {
  return list(1, count, caches, [](uint32_t, ze_device_cache_properties_t *out) {
    out->flags = 0;
    out->cacheSize = 1 << 22;
  });
}

ze_result_t device_image_properties(ze_device_handle_t /*device*/, ze_device_image_properties_t *out) noexcept {
  out->maxImageDims1D = out->maxImageDims2D = out->maxImageDims3D = 0;
  out->maxImageBufferSize = 0;
  out->maxImageArraySlices = 0;
  out->maxSamplers = 0;
  out->maxReadImageArgs = out->maxWriteImageArgs = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_external_memory(ze_device_handle_t /*device*/,
                                   ze_device_external_memory_properties_t *out) noexcept {
  out->memoryAllocationImportTypes = out->memoryAllocationExportTypes = 0;
  out->imageImportTypes = out->imageExportTypes = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_p2p(ze_device_handle_t /*device*/, ze_device_handle_t /*peer*/,
                       ze_device_p2p_properties_t *out) noexcept {
  out->flags = ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_can_access(ze_device_handle_t /*device*/, ze_device_handle_t /*peer*/, ze_bool_t *value) noexcept {
  *value = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_status(ze_device_handle_t /*device*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

uint64_t nanoseconds_now() noexcept {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

ze_result_t device_timestamps(ze_device_handle_t /*device*/, uint64_t *host, uint64_t *device) noexcept {
  *host = *device = nanoseconds_now();
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_pci(ze_device_handle_t handle, ze_pci_ext_properties_t *out) noexcept {
  constexpr uint32_t kFirstBus = 0x10;
  out->address = {0, kFirstBus + static_cast<uint32_t>(device_of(handle).index), 0, 0};
  out->maxSpeed = {-1, -1, -1};
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_vertex(ze_device_handle_t /*device*/, ze_fabric_vertex_handle_t * /*vertex*/) noexcept {
  return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

// ---- contexts ----

ze_result_t context_create(ze_driver_handle_t /*driver*/, const ze_context_desc_t * /*desc*/,
                           ze_context_handle_t *context) noexcept {
  return guarded([&] {
    *context = handle_of<ze_context_handle_t>(std::make_unique<Context>().release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t context_create_for(ze_driver_handle_t driver, const ze_context_desc_t *desc, uint32_t /*n*/,
                               ze_device_handle_t * /*devices*/, ze_context_handle_t *context) noexcept {
  return context_create(driver, desc, context);
}

ze_result_t context_destroy(ze_context_handle_t context) noexcept {
  const std::unique_ptr<Context> destroyed(object<Context>(context));
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_status(ze_context_handle_t /*context*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_barrier(ze_context_handle_t /*context*/, ze_device_handle_t /*device*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

// All memory is where it is.
ze_result_t context_resident(ze_context_handle_t /*context*/, ze_device_handle_t /*device*/, void * /*memory*/,
                             size_t /*size_bytes*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t use_device(ze_device_handle_t handle) noexcept {
  return result_of(emu_set_device(handle != nullptr ? device_of(handle).index : 0));
}

ze_result_t result_of(emu_result_t result) noexcept {
  switch (result) {
    case EMU_SUCCESS:
      return ZE_RESULT_SUCCESS;
    case EMU_NOT_READY:
      return ZE_RESULT_NOT_READY;
    case EMU_ERROR_OUT_OF_MEMORY:
      return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    case EMU_ERROR_INVALID_VALUE:
    case EMU_ERROR_INVALID_DEVICE:
    case EMU_ERROR_INVALID_POINTER:
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    case EMU_ERROR_COPY_FAILED:
    case EMU_ERROR_QUEUE_FAILED:
      return ZE_RESULT_ERROR_DEVICE_LOST;
    case EMU_ERROR_NOT_SUPPORTED:
      return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    case EMU_ERROR_CONFIGURATION:
    case EMU_ERROR_SHUT_DOWN:
    case EMU_ERROR_FORKED:
      return ZE_RESULT_ERROR_UNINITIALIZED;
    case EMU_ERROR_SYSTEM:
      break;
  }
  return ZE_RESULT_ERROR_UNKNOWN;
}

void fill(ze_global_dditable_t *table) noexcept {
  table->pfnInit = init;
}

void fill(ze_driver_dditable_t *table) noexcept {
  table->pfnGet = driver_get;
  table->pfnGetApiVersion = driver_api_version;
  table->pfnGetProperties = driver_properties;
  table->pfnGetIpcProperties = driver_ipc_properties;
  table->pfnGetExtensionProperties = driver_extensions;
  table->pfnGetExtensionFunctionAddress = driver_extension_function;
}

void fill(ze_device_dditable_t *table) noexcept {
  table->pfnGet = device_get;
  table->pfnGetSubDevices = device_sub_devices;
  table->pfnGetProperties = device_properties;
  table->pfnGetComputeProperties = device_compute_properties;
  table->pfnGetModuleProperties = device_module_properties;
  table->pfnGetCommandQueueGroupProperties = device_queue_groups;
  table->pfnGetMemoryProperties = device_memory_properties;
  table->pfnGetMemoryAccessProperties = device_memory_access;
  table->pfnGetCacheProperties = device_cache_properties;
  table->pfnGetImageProperties = device_image_properties;
  table->pfnGetExternalMemoryProperties = device_external_memory;
  table->pfnGetP2PProperties = device_p2p;
  table->pfnCanAccessPeer = device_can_access;
  table->pfnGetStatus = device_status;
  table->pfnGetGlobalTimestamps = device_timestamps;
  table->pfnPciGetPropertiesExt = device_pci;
}

void fill(ze_device_exp_dditable_t *table) noexcept {
  table->pfnGetFabricVertexExp = device_vertex;
}

void fill(ze_context_dditable_t *table) noexcept {
  table->pfnCreate = context_create;
  table->pfnCreateEx = context_create_for;
  table->pfnDestroy = context_destroy;
  table->pfnGetStatus = context_status;
  table->pfnSystemBarrier = context_barrier;
  table->pfnMakeMemoryResident = context_resident;
  table->pfnEvictMemory = context_resident;
}

}  // namespace sluice::emulated_driver
