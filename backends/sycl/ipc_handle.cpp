// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads handles.
#include "ipc_handle.h"

#include <cstring>
#include <string>

#include "../process_identity.h"

namespace sluice::backends::sycl {

namespace {

constexpr uint32_t kMagic = 0x32495953;  // "SYI2"

uint16_t checksum_of(HandleLayout layout) {
  layout.checksum = 0;
  const uint32_t sum = handle_checksum(&layout, sizeof layout);
  return static_cast<uint16_t>(sum ^ (sum >> 16U));
}

uint32_t process_checksum(const ProcessIdentity &process) {
  const uint64_t words[] = {process.start_time, process.pid_namespace};
  return handle_checksum(words, sizeof words);
}

}  // namespace

Outcome write_handle(Mechanism mechanism, const void *native, size_t native_bytes, uint64_t offset,
                     sluice_ipc_handle_t *handle) {
  HandleLayout layout{};
  if (native_bytes > sizeof layout.native) {
    return {SLUICE_ERROR_UNSUPPORTED, "the runtime's handle has " + std::to_string(native_bytes) +
                                          " bytes; this version of Sluice has place for " +
                                          std::to_string(sizeof layout.native)};
  }
  const ProcessIdentity self = this_process();
  layout.magic = kMagic;
  layout.pid = self.pid;
  layout.process = process_checksum(self);
  layout.native_bytes = static_cast<uint8_t>(native_bytes);
  layout.mechanism = mechanism;
  layout.offset = offset;
  std::memcpy(layout.native, native, native_bytes);
  layout.checksum = checksum_of(layout);
  std::memcpy(handle->bytes, &layout, sizeof layout);
  return {};
}

Outcome read_handle(const sluice_ipc_handle_t &handle, HandleLayout *layout) {
  std::memcpy(layout, handle.bytes, sizeof *layout);
  if (layout->magic != kMagic || layout->checksum != checksum_of(*layout) ||
      layout->native_bytes > sizeof layout->native) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version"};
  }
  const ProcessIdentity self = this_process();
  if (layout->pid == self.pid && layout->process == process_checksum(self)) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "the handle is of this process itself; use the pointer"};
  }
  return {};
}

}  // namespace sluice::backends::sycl
