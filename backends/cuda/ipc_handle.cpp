// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads handles.
#include "ipc_handle.h"

#include "../sealed_handle.h"

namespace sluice::backends::cuda {

namespace {

constexpr uint32_t kMagic = 0x43495544;  // "DUIC"

}  // namespace

sluice_result_t write_handle(int32_t device, HandleLayout *layout, sluice_ipc_handle_t *handle) {
  CUdevice ordinal = 0;
  sluice_result_t result = translate("cuDeviceGet", g_driver.cuDeviceGet(&ordinal, device));
  if (result == SLUICE_SUCCESS) {
    result = translate("cuDeviceGetUuid", g_driver.cuDeviceGetUuid(&layout->device, ordinal));
  }
  if (result != SLUICE_SUCCESS) return result;
  seal_handle(kMagic, layout, handle);
  return SLUICE_SUCCESS;
}

sluice_result_t read_handle(const sluice_ipc_handle_t &handle, HandleLayout *layout) {
  return open_seal(handle, kMagic, layout, [](const HandleLayout &at) {
    return at.mechanism == Mechanism::kDriverHandle || at.mechanism == Mechanism::kFabricHandle ||
           at.mechanism == Mechanism::kPieces;
  });
}

}  // namespace sluice::backends::cuda
