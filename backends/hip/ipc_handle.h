// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a handle for other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "module.h"

namespace sluice::backends::hip {

// What lies in sluice_ipc_handle_t. The buffer's number is in it, so that handles of two allocations that followed each
// other at one address differ, whatever the runtime's own bytes do.
struct HandleLayout {
  uint32_t magic;
  uint32_t checksum;  // of all that follows
  int32_t pid;
  uint32_t pid_namespace;
  uint64_t start_time;
  uint64_t size_bytes;
  uint64_t buffer_id;
  char device[16];  // the exporter's, by its PCI address: numbers of devices differ between processes
  hipIpcMemHandle_t native;
};
static_assert(sizeof(HandleLayout) <= sizeof(sluice_ipc_handle_t) && std::is_trivially_copyable_v<HandleLayout>);

// Fills in what every handle has (native, size and number are the caller's) for memory of `device` of this process.
sluice_result_t write_handle(int32_t device, HandleLayout *layout, sluice_ipc_handle_t *handle);
// SLUICE_SUCCESS when the bytes are a handle of another process that is in itself right.
sluice_result_t read_handle(const sluice_ipc_handle_t &handle, HandleLayout *layout);

}  // namespace sluice::backends::hip
