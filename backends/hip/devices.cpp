// SPDX-License-Identifier: BSD-3-Clause
// The devices, and which of them is current.
#include <atomic>
#include <cctype>
#include <cstdio>
#include <string>

#include "../numa_node.h"
#include "module.h"

namespace sluice::backends::hip {

// What the runtime said once stays so in a process.
int32_t device_count() {
  static std::atomic<int32_t> known{0};
  if (const int32_t found = known.load(std::memory_order_relaxed); found > 0) return found;
  int count = 0;
  const hipError_t native = g_runtime.hipGetDeviceCount(&count);
  if (native == hipErrorNoDevice) count = 0;
  if (native != hipErrorNoDevice && translate("hipGetDeviceCount", native) != SLUICE_SUCCESS) return 0;
  if (count == 0) {
    fail(SLUICE_ERROR_NO_DEVICE,
         "the runtime shows no device; look at ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES, and at the rights to "
         "/dev/kfd");
  }
  known.store(count, std::memory_order_relaxed);
  return count;
}

sluice_result_t check_device(int32_t device) {
  const int32_t count = device_count();
  if (device >= 0 && device < count) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_NO_DEVICE,
              "device " + std::to_string(device) + " of " + std::to_string(count) + " (they are numbered from 0)");
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  sluice_result_t result = check_device(device);
  if (result != SLUICE_SUCCESS) return result;
  hipDevice_t ordinal = 0;
  result = translate("hipDeviceGet", g_runtime.hipDeviceGet(&ordinal, device));
  if (result != SLUICE_SUCCESS) return result;
  *info = {};
  info->numa_node = -1;
  result = translate("hipDeviceGetName", g_runtime.hipDeviceGetName(info->name, sizeof info->name, ordinal));
  if (result != SLUICE_SUCCESS) return result;
  int version = 0;
  result = translate("hipRuntimeGetVersion", g_runtime.hipRuntimeGetVersion(&version));
  if (result != SLUICE_SUCCESS) return result;
  constexpr int kMajor = 10'000'000;
  constexpr int kMinor = 100'000;
  std::snprintf(info->runtime, sizeof info->runtime, "HIP %d.%d", version / kMajor, version % kMajor / kMinor);
  size_t memory_bytes = 0;
  result = translate("hipDeviceTotalMem", g_runtime.hipDeviceTotalMem(&memory_bytes, ordinal));
  if (result != SLUICE_SUCCESS) return result;
  info->memory_bytes = memory_bytes;
  // Some virtual devices have no address; that is no error.
  if (g_runtime.hipDeviceGetPCIBusId(info->pci_address, sizeof info->pci_address, device) != hipSuccess) {
    info->pci_address[0] = '\0';
  }
  for (char *c = info->pci_address; *c != '\0'; ++c) {
    *c = static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  info->numa_node = numa_node_of(info->pci_address);
  return SLUICE_SUCCESS;
}

DeviceScope::DeviceScope(int32_t device) {
  int current = 0;
  result_ = translate("hipGetDevice", g_runtime.hipGetDevice(&current));
  if (result_ == SLUICE_SUCCESS && current != device) {
    result_ = translate("hipSetDevice", g_runtime.hipSetDevice(device));
    if (result_ == SLUICE_SUCCESS) before_ = current;
  }
  if (result_ != SLUICE_SUCCESS) return;
  result_ =
      translate("hipThreadExchangeStreamCaptureMode", g_runtime.hipThreadExchangeStreamCaptureMode(&capture_mode_));
  is_relaxed_ = result_ == SLUICE_SUCCESS;
}

// What goes wrong here cannot be said to anybody; a device that was current is there.
DeviceScope::~DeviceScope() {
  if (is_relaxed_) static_cast<void>(g_runtime.hipThreadExchangeStreamCaptureMode(&capture_mode_));
  if (before_ >= 0) static_cast<void>(g_runtime.hipSetDevice(before_));
}

}  // namespace sluice::backends::hip
