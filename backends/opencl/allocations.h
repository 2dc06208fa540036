// SPDX-License-Identifier: BSD-3-Clause
// What this module allocated, and how: an OpenCL runtime gives buffers and pointers back by different calls.
#pragma once

#include "runtime.h"

namespace sluice::backends::opencl {

// A mapped buffer, `alignment` as host_alloc.
sluice_result_t allocate_mapped(Device *device, size_t size_bytes, size_t alignment, void **memory);
// USM; kind: DEVICE or SHARED. SLUICE_ERROR_UNSUPPORTED where the runtime has none.
sluice_result_t allocate_usm(Device *device, sluice_memory_kind_t kind, size_t size_bytes, void **memory);
// What one of both gave.
sluice_result_t program_free(void *memory);

// HOST for memory that is none of this module's.
sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info);

}  // namespace sluice::backends::opencl
