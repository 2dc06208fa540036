// SPDX-License-Identifier: BSD-3-Clause
// Which devices the driver shows, and what they are.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

#include "../numa_node.h"
#include "module.h"

namespace sluice::backends::cuda {

// What the driver said once stays so in a process.
int32_t device_count() {
  static std::atomic<int32_t> known{0};
  if (const int32_t found = known.load(std::memory_order_relaxed); found > 0) return found;
  int count = 0;
  CUresult native = g_driver.cuDeviceGetCount(&count);
  const char *call = "cuDeviceGetCount";
  if (native == CUDA_ERROR_NOT_INITIALIZED) {
    // Creates no context; the program's own call, if it comes, finds it done.
    native = g_driver.cuInit(0);
    call = "cuInit";
    if (native == CUDA_SUCCESS) native = g_driver.cuDeviceGetCount(&count);
  }
  if (translate(call, native) != SLUICE_SUCCESS) return 0;
  if (count == 0) fail(SLUICE_ERROR_NO_DEVICE, "the driver shows no device; look at CUDA_VISIBLE_DEVICES");
  known.store(count, std::memory_order_relaxed);
  return count;
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  sluice_result_t result = check_device(device);
  if (result != SLUICE_SUCCESS) return result;
  CUdevice ordinal = 0;
  result = translate("cuDeviceGet", g_driver.cuDeviceGet(&ordinal, device));
  if (result != SLUICE_SUCCESS) return result;
  *info = {};
  info->numa_node = -1;
  result = translate("cuDeviceGetName", g_driver.cuDeviceGetName(info->name, sizeof info->name, ordinal));
  if (result != SLUICE_SUCCESS) return result;
  int version = 0;
  result = translate("cuDriverGetVersion", g_driver.cuDriverGetVersion(&version));
  if (result != SLUICE_SUCCESS) return result;
  std::snprintf(info->runtime, sizeof info->runtime, "CUDA driver %d.%d", version / 1000, version % 1000 / 10);
  size_t memory_bytes = 0;
  result = translate("cuDeviceTotalMem", g_driver.cuDeviceTotalMem(&memory_bytes, ordinal));
  if (result != SLUICE_SUCCESS) return result;
  info->memory_bytes = memory_bytes;
  // Some virtual devices have no address; that is no error.
  if (g_driver.cuDeviceGetPCIBusId(info->pci_address, sizeof info->pci_address, ordinal) != CUDA_SUCCESS) {
    info->pci_address[0] = '\0';
  }
  for (char *c = info->pci_address; *c != '\0'; ++c)
    *c = static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  info->numa_node = numa_node_of(info->pci_address);
  return SLUICE_SUCCESS;
}

// Of two H100s (docs/adr/0053); the driver maps memory of other processes in the same way on others.
uint32_t device_traits(int32_t device) {
  return check_device(device) == SLUICE_SUCCESS ? SLUICE_DEVICE_CROWDED_ENGINES : 0;
}

}  // namespace sluice::backends::cuda
