// SPDX-License-Identifier: BSD-3-Clause
// The kernel that compares memory in place (sluice/testing/probe.h), compiled by the runtime at first use and kept.
#pragma once

#include "module.h"

namespace sluice::backends::opencl {

// The kernel for a device, left to the end of the process; to be used by one thread at a time, for its arguments are
// part of it. Blocks while it is compiled, which takes a second. Arguments: the members of kernels::CheckTask in their
// order, pointers as USM. SLUICE_ERROR_UNSUPPORTED with the compiler's words where it cannot be compiled: the runtime
// must have C++ for OpenCL.
sluice_result_t find_check_kernel(const Device &device, cl_kernel *kernel);

}  // namespace sluice::backends::opencl
