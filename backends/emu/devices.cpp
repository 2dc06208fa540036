// SPDX-License-Identifier: BSD-3-Clause
// Which devices there are.
#include <algorithm>
#include <cstdio>

#include "module.h"

namespace sluice::backends::emu {

int32_t device_count() {
  int32_t count = 0;
  return translate(emu_device_count(&count)) == SLUICE_SUCCESS ? count : 0;
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  if (info == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "device_info: null pointer");
  emu_device_info_t properties{};
  const sluice_result_t result = translate(emu_device_query(device, &properties));
  if (result != SLUICE_SUCCESS) return result;
  *info = {};
  std::copy(std::begin(properties.name), std::end(properties.name), std::begin(info->name));
  std::copy(std::begin(properties.pci_address), std::end(properties.pci_address), std::begin(info->pci_address));
  std::snprintf(info->runtime, sizeof(info->runtime), "emurt %d.%d (emulated on the host)", EMU_VERSION_MAJOR,
                EMU_VERSION_MINOR);
  info->numa_node = properties.numa_node;
  info->memory_bytes = properties.memory_bytes;
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::emu
