// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads handles.
#include "ipc_handle.h"

#include <string_view>

#include "../sealed_handle.h"

namespace sluice::backends::hip {

namespace {

constexpr uint32_t kMagic = 0x43495048;  // "HPIC"

}  // namespace

sluice_result_t write_handle(int32_t device, HandleLayout *layout, sluice_ipc_handle_t *handle) {
  sluice_device_info_t info = {};
  const sluice_result_t result = device_info(device, &info);
  if (result != SLUICE_SUCCESS) return result;
  std::string_view(info.pci_address).copy(layout->device, sizeof layout->device - 1);  // the rest is zero
  seal_handle(kMagic, layout, handle);
  return SLUICE_SUCCESS;
}

sluice_result_t read_handle(const sluice_ipc_handle_t &handle, HandleLayout *layout) {
  return open_seal(handle, kMagic, layout,
                   [](const HandleLayout &at) { return at.device[sizeof at.device - 1] == '\0'; });
}

}  // namespace sluice::backends::hip
