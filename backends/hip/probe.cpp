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

constexpr sluice_probe_t kProbe = {
    .api_version = SLUICE_PROBE_API_VERSION,
    .struct_size = sizeof(sluice_probe_t),
    .memory_in_use = memory_in_use,
    .check_memory = check_memory,
    .work_create = work_create,
    .work_enqueue = work_enqueue,
    .work_wait = work_wait,
    .work_destroy = work_destroy,
};

}  // namespace
}  // namespace sluice::backends::hip

extern "C" __attribute__((visibility("default"))) const sluice_probe_t *sluice_backend_probe() {
  return &sluice::backends::hip::kProbe;
}
