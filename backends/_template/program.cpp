// SPDX-License-Identifier: BSD-3-Clause
// What a program does with this vendor's runtime: the plain calls, as a program would write them. Tests, benchmarks and
// the demo make and fill device memory with these; libsluice never calls them. Leave out all five (null in the table)
// only when there is no way; the conformance suite can then test little.
#include "module.h"

namespace sluice::backends::template_backend {

// Makes `device` current for the calling thread. An index out of range: SLUICE_ERROR_NO_DEVICE.
sluice_result_t program_set_device(int32_t /*device*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// PINNED, DEVICE or SHARED memory of the current device; any other kind is SLUICE_ERROR_INVALID_ARGUMENT, a kind that
// the device lacks SLUICE_ERROR_UNSUPPORTED.
sluice_result_t program_alloc(sluice_memory_kind_t /*kind*/, size_t /*size_bytes*/, void ** /*memory*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Frees memory of any of the three kinds.
sluice_result_t program_free(void * /*memory*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// The vendor's blocking copy; direction from the addresses.
sluice_result_t program_copy(void * /*dst*/, const void * /*src*/, size_t /*size_bytes*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Waits for all work of the current device.
sluice_result_t program_synchronize() {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend
