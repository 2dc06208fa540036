// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads handles.
#include "ipc_handle.h"

#include <cstring>
#include <string_view>

#include "../process_identity.h"

namespace sluice::backends::hip {

namespace {

constexpr uint32_t kMagic = 0x43495048;  // "HPIC"

uint32_t checksum_of(const sluice_ipc_handle_t &handle) {
  constexpr size_t kFrom = offsetof(HandleLayout, pid);
  return handle_checksum(handle.bytes + kFrom, sizeof handle.bytes - kFrom);
}

}  // namespace

sluice_result_t write_handle(int32_t device, HandleLayout *layout, sluice_ipc_handle_t *handle) {
  sluice_device_info_t info = {};
  const sluice_result_t result = device_info(device, &info);
  if (result != SLUICE_SUCCESS) return result;
  std::string_view(info.pci_address).copy(layout->device, sizeof layout->device - 1);  // the rest is zero
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
  const bool has_end = layout->device[sizeof layout->device - 1] == '\0';
  if (layout->magic != kMagic || layout->checksum != checksum_of(handle) || !has_end) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version");
  }
  const ProcessIdentity self = this_process();
  if (self == ProcessIdentity{layout->pid, layout->pid_namespace, layout->start_time}) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the handle is of this process itself; use the pointer");
  }
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::hip
