// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads handles.
#include "ipc_handle.h"

#include <cstring>

#include "../process_identity.h"

namespace sluice::backends::cuda {

namespace {

constexpr uint32_t kMagic = 0x43495544;  // "DUIC"

uint32_t checksum_of(const sluice_ipc_handle_t &handle) {
  constexpr size_t kFrom = offsetof(HandleLayout, mechanism);
  return handle_checksum(handle.bytes + kFrom, sizeof handle.bytes - kFrom);
}

}  // namespace

sluice_result_t write_handle(int32_t device, HandleLayout *layout, sluice_ipc_handle_t *handle) {
  CUdevice ordinal = 0;
  sluice_result_t result = translate("cuDeviceGet", g_driver.cuDeviceGet(&ordinal, device));
  if (result == SLUICE_SUCCESS) {
    result = translate("cuDeviceGetUuid", g_driver.cuDeviceGetUuid(&layout->device, ordinal));
  }
  if (result != SLUICE_SUCCESS) return result;
  const ProcessIdentity self = this_process();
  layout->magic = kMagic;
  layout->checksum = 0;
  layout->pid = self.pid;
  layout->start_time = self.start_time;
  layout->pid_namespace = self.pid_namespace;
  sluice_ipc_handle_t made = {};
  std::memcpy(made.bytes, layout, sizeof *layout);
  layout->checksum = checksum_of(made);
  std::memcpy(made.bytes, layout, sizeof *layout);
  *handle = made;
  return SLUICE_SUCCESS;
}

sluice_result_t read_handle(const sluice_ipc_handle_t &handle, HandleLayout *layout) {
  std::memcpy(layout, handle.bytes, sizeof *layout);
  const bool is_known = layout->mechanism == Mechanism::kDriverHandle ||
                        layout->mechanism == Mechanism::kFabricHandle || layout->mechanism == Mechanism::kPieces;
  if (layout->magic != kMagic || layout->checksum != checksum_of(handle) || !is_known) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version");
  }
  const ProcessIdentity self = this_process();
  if (self == ProcessIdentity{layout->pid, layout->pid_namespace, layout->start_time}) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the handle is of this process itself; use the pointer");
  }
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::cuda
