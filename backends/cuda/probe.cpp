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

}  // namespace
}  // namespace sluice::backends::cuda

#define SLUICE_MODULE_NAMESPACE cuda
#ifndef SLUICE_CUDA_HAS_KERNELS
#define SLUICE_PROBE_WITHOUT_KERNELS
#endif
#include "../exported_probe.inc"
