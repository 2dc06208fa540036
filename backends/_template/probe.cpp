// SPDX-License-Identifier: BSD-3-Clause
// Optional: what a benchmark asks besides the contract (sluice/testing/probe.h). libsluice never calls it. Without this
// file the benchmark checks data on the host, and says so.
#include "sluice/testing/probe.h"

#include "module.h"

namespace sluice::backends::template_backend {
namespace {

// Total memory less free memory, as the runtime says.
sluice_result_t memory_in_use(int32_t /*device*/, uint64_t * /*size_bytes*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

constexpr sluice_probe_t kProbe = {
    .api_version = SLUICE_PROBE_API_VERSION,
    .struct_size = sizeof(sluice_probe_t),
    .memory_in_use = memory_in_use,
    // Once the device's compiler takes kernels/: each of n items calls kernels::check_share; ../memory_check.h has the
    // rest.
    .check_memory = nullptr,
    // The same with kernels::work_share in a queue of its own.
    .work_create = nullptr,
    .work_enqueue = nullptr,
    .work_wait = nullptr,
    .work_destroy = nullptr,
};

}  // namespace
}  // namespace sluice::backends::template_backend

extern "C" __attribute__((visibility("default"))) const sluice_probe_t *sluice_backend_probe() {
  return &sluice::backends::template_backend::kProbe;
}
