// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark asks besides the contract: memory in use, and the kernels of probe_kernels.cpp.
#include "sluice/testing/probe.h"

#include "module.h"

namespace sluice::backends::cuda {
namespace {

// The device's memory, by all processes.
sluice_result_t memory_in_use(int32_t device, uint64_t *size_bytes) {
  if (g_driver.cuMemGetInfo == nullptr) return fail(SLUICE_ERROR_UNSUPPORTED, "the driver has no cuMemGetInfo");
  const sluice_result_t result = program_set_device(device);
  if (result != SLUICE_SUCCESS) return result;
  size_t free_bytes = 0;
  size_t all_bytes = 0;
  const sluice_result_t asked = translate("cuMemGetInfo", g_driver.cuMemGetInfo(&free_bytes, &all_bytes));
  if (asked == SLUICE_SUCCESS) *size_bytes = all_bytes - free_bytes;
  return asked;
}

constexpr sluice_probe_t kProbe = {
    .api_version = SLUICE_PROBE_API_VERSION,
    .struct_size = sizeof(sluice_probe_t),
    .memory_in_use = memory_in_use,
#ifdef SLUICE_CUDA_HAS_KERNELS
    .check_memory = check_memory,
    .work_create = work_create,
    .work_enqueue = work_enqueue,
    .work_wait = work_wait,
    .work_destroy = work_destroy,
#else
    .check_memory = nullptr,
    .work_create = nullptr,
    .work_enqueue = nullptr,
    .work_wait = nullptr,
    .work_destroy = nullptr,
#endif
};

}  // namespace
}  // namespace sluice::backends::cuda

extern "C" __attribute__((visibility("default"))) const sluice_probe_t *sluice_backend_probe() {
  return &sluice::backends::cuda::kProbe;
}
