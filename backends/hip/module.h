// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Functions named as members of sluice_backend_t are those members; their contract
// is include/sluice/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../members.h"
#include "../module_state.h"
#include "runtime.h"
#include "sluice/backend.h"
#include "sluice/testing/probe.h"

namespace sluice::backends::hip {

// The runtime's functions; valid after init().
extern Runtime g_runtime;

// What triggers and waits in streams: the runtime's stream memory operations, kernels, or (auto) the first where the
// device has it.
enum class StreamOperations { kAuto, kMemory, kKernels };

// What the knob SLUICE_HIP_STREAMS says.
struct Choices {
  bool streams = false;
  StreamOperations stream_operations = StreamOperations::kAuto;
};
extern Choices g_choices;

// ---- module.cpp: errors ----

// What an answer of the runtime means to Sluice; keeps "call: native text" for last_error() when it is an error.
sluice_result_t translate(const char *call, hipError_t native);

// ---- devices.cpp ----

// SLUICE_SUCCESS for 0 <= device < device_count(), else SLUICE_ERROR_NO_DEVICE with a text.
sluice_result_t check_device(int32_t device);

// Makes a device current for a scope, and lets the scope's calls pass while the program captures a stream. Both are as
// before afterwards. A device of this runtime has one context, which the program's first use of it makes; Sluice
// comes here only with memory or a queue of that device.
class DeviceScope {
 public:
  explicit DeviceScope(int32_t device);
  ~DeviceScope();
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;

  // SLUICE_SUCCESS, or why the device cannot be made current.
  sluice_result_t result() const { return result_; }

 private:
  int before_ = -1;  // -1: nothing is to be put back
  bool is_relaxed_ = false;
  hipStreamCaptureMode capture_mode_ = hipStreamCaptureModeRelaxed;
  sluice_result_t result_ = SLUICE_SUCCESS;
};

// ---- pointers.cpp ----

// Where a kernel or stream of the current device finds `address`: itself for device and managed memory, the device's
// address for host memory that the runtime knows. SLUICE_ERROR_UNSUPPORTED for any other memory.
sluice_result_t device_address(int32_t device, const void *address, void **found);
// The same for memory of that length, whose two ends are asked for.
sluice_result_t device_range(int32_t device, const void *memory, size_t size_bytes, void **found);

// ---- ipc.cpp ----

// Whether ipc_open gave memory that holds `address` for queues of `device`, and nobody has closed it. Any thread.
bool is_opened(int32_t device, const void *address);

// probe_kernels.cpp: members of sluice_probe_t
#include "../probe_members.h"

// Members of the table.
#define SLUICE_MEMBER SLUICE_DECLARED
#include "../members.def"
#undef SLUICE_MEMBER

}  // namespace sluice::backends::hip
