// SPDX-License-Identifier: BSD-3-Clause
// The kernels of reductions, compiled by the runtime at first use and kept.
#pragma once

#include <optional>

#include "module.h"

namespace sluice::backends::sycl {

// Whether the runtime can compile kernels for the device. The first question for a device may take a millisecond.
bool can_compile(const ::sycl::device &device);

// Finds the kernel of a legal pair for a device and a context, or compiles it, which takes seconds and blocks (only
// others that compile). The kernel takes one kernels::Task, in a one-dimensional nd-range of any size.
// SLUICE_ERROR_UNSUPPORTED with the compiler's words when it cannot be compiled, each time; it is tried once.
// Throws what the runtime throws.
sluice_result_t find_kernel(const ::sycl::context &context, const ::sycl::device &device, sluice_element_t element,
                            sluice_operation_t operation, std::optional<::sycl::kernel> *kernel);

}  // namespace sluice::backends::sycl
