// SPDX-License-Identifier: BSD-3-Clause
// The table of this memory module, and its errors.
#include "module.h"

#include "allocations.h"

namespace sluice::backends::opencl {

sluice_result_t translate(const char *call, cl_int native) {
  if (native == CL_SUCCESS) return SLUICE_SUCCESS;
  const std::string text = std::string(call) + ": OpenCL error " + std::to_string(native);
  switch (native) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      return fail(SLUICE_ERROR_OUT_OF_MEMORY, text);
    case CL_INVALID_VALUE:
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, text);
    default:
      return fail(SLUICE_ERROR_NATIVE, text);
  }
}

}  // namespace sluice::backends::opencl

#define SLUICE_MODULE_NAMESPACE opencl
#define SLUICE_MODULE_NAME "opencl"
#include "../exported_memory_table.inc"
