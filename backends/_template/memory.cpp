// SPDX-License-Identifier: BSD-3-Clause
// Staging memory.
#include "module.h"

namespace sluice::backends::template_backend {

// The runtime's pinned host memory. Where it has no aligned form, allocate more and remember the runtime's address.
// Restore the caller's current device. Refuse an alignment that is no power of two (SLUICE_ERROR_INVALID_ARGUMENT);
// SLUICE_ERROR_OUT_OF_MEMORY when the runtime has none.
sluice_result_t host_alloc(int32_t /*device*/, size_t /*size_bytes*/, size_t /*alignment*/, void ** /*memory*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

sluice_result_t host_free(int32_t /*device*/, void * /*memory*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Measure all four with `sluice-bench memcpy` and write the figures into docs/measurements; until then, this one.
sluice_staging_memory_t preferred_staging(int32_t /*device*/) {
  return SLUICE_STAGING_RUNTIME;
}

}  // namespace sluice::backends::template_backend
