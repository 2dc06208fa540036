// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark asks besides the contract: memory in use, and the kernels of probe_kernels.cpp.
#include "sluice/testing/probe.h"

#include "module.h"

namespace sluice::backends::hip {
namespace {

// The device's memory, by all processes.
sluice_result_t memory_in_use(int32_t device, uint64_t *size_bytes) {
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  size_t free_bytes = 0;
  size_t all_bytes = 0;
  const sluice_result_t asked = translate("hipMemGetInfo", g_runtime.hipMemGetInfo(&free_bytes, &all_bytes));
  if (asked == SLUICE_SUCCESS) *size_bytes = all_bytes - free_bytes;
  return asked;
}

}  // namespace
}  // namespace sluice::backends::hip

#define SLUICE_MODULE_NAMESPACE hip
#include "../exported_probe.inc"
