// SPDX-License-Identifier: BSD-3-Clause
// What the files of the emulated Level Zero driver share: its objects, which handles are addresses of, and how the
// emulated device's errors become the specification's. Each function of the driver is a ze_result_t f(...) noexcept
// that catches all; tables.cpp puts them into the tables that the loader asks for.
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "emurt.h"

namespace sluice::emulated_driver {

// A device of the emulated machine, or a tile of one. Tiles share their device's memory and engines.
struct Device {
  int32_t index = 0;
  int32_t tile = -1;  // -1: the whole device
};

// What a program is shown of devices of two tiles: devices with tiles, tiles alone, or tiles that name their device.
enum class Hierarchy { kComposite, kFlat, kCombined };

// Devices of this process, made once.
struct Machine {
  static constexpr int32_t kMostDevices = 16;
  static constexpr int32_t kMostTiles = 2;

  int32_t n_devices = 0;
  int32_t n_tiles = 1;
  Device devices[kMostDevices];
  Device tiles[kMostDevices][kMostTiles];
  Hierarchy hierarchy = Hierarchy::kComposite;
  int32_t n_listed = 0;  // what zeDeviceGet gives
  Device *listed[kMostDevices * kMostTiles] = {};
  bool is_integrated = false;
  bool reads_system_memory = false;  // kernels take memory of malloc
  bool opens_half = false;           // of other processes' memory, as a driver that hands over one tile's share
  std::string trace;                 // file of calls (start_trace); empty: none

  [[nodiscard]] bool lists_tiles() const noexcept { return n_tiles > 1 && hierarchy != Hierarchy::kComposite; }
};

// The machine, or null when what the variables say is not understood.
Machine *machine();

// From now on each call of this process stands in `path`.<number of the process>. False: the loader's tracing layer is
// not there (ZE_ENABLE_TRACING_LAYER=1), or the file cannot be written. Once.
bool start_trace(const std::string &path);

struct Context {
  int unused = 0;
};

template <typename T, typename Handle>
T *object(Handle handle) noexcept {
  return reinterpret_cast<T *>(handle);
}
template <typename Handle, typename T>
Handle handle_of(T *made) noexcept {
  return reinterpret_cast<Handle>(made);
}

ze_result_t result_of(emu_result_t result) noexcept;

// The device that a tile says to be part of; null for a whole device, and for a tile that stands for a device.
Device *root_of(const Device &device) noexcept;

// Makes the device of `handle` the calling thread's, which emu_malloc_* and emu_queue_create use.
ze_result_t use_device(ze_device_handle_t handle) noexcept;

// Runs body() -> ze_result_t. No exception leaves the driver.
template <typename Body>
ze_result_t guarded(Body &&body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc &) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  } catch (const std::exception &) {
    return ZE_RESULT_ERROR_UNKNOWN;
  }
}

// The specification's way to hand a list out: with *count 0 it says how many there are, else it writes at most *count.
template <typename T, typename Make>
ze_result_t list(uint32_t n, uint32_t *count, T *out, Make make) noexcept {
  if (count == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (*count == 0 || out == nullptr) {
    *count = n;
    return ZE_RESULT_SUCCESS;
  }
  if (*count > n) *count = n;
  for (uint32_t i = 0; i < *count; ++i) make(i, &out[i]);
  return ZE_RESULT_SUCCESS;
}

// What newer versions of the specification add to a table (newer.cpp), where the loader has room for it.
void fill_newer(ze_api_version_t version, ze_driver_dditable_t *table) noexcept;
void fill_newer(ze_api_version_t version, ze_device_dditable_t *table) noexcept;
void fill_newer(ze_api_version_t version, ze_mem_dditable_t *table) noexcept;
void fill_newer(ze_api_version_t version, ze_command_list_dditable_t *table) noexcept;

// The functions of each file, for tables.cpp.
void fill(ze_global_dditable_t *table) noexcept;
void fill(ze_driver_dditable_t *table) noexcept;
void fill(ze_device_dditable_t *table) noexcept;
void fill(ze_device_exp_dditable_t *table) noexcept;
void fill(ze_context_dditable_t *table) noexcept;
void fill(ze_mem_dditable_t *table) noexcept;
void fill(ze_command_queue_dditable_t *table) noexcept;
void fill(ze_command_list_dditable_t *table) noexcept;
void fill(ze_fence_dditable_t *table) noexcept;
void fill(ze_event_pool_dditable_t *table) noexcept;
void fill(ze_event_dditable_t *table) noexcept;
void fill(ze_module_dditable_t *table) noexcept;
void fill(ze_module_build_log_dditable_t *table) noexcept;
void fill(ze_kernel_dditable_t *table) noexcept;
void fill(ze_kernel_exp_dditable_t *table) noexcept;

}  // namespace sluice::emulated_driver
