// SPDX-License-Identifier: BSD-3-Clause
// The kernels that benchmarks ask for (sluice/testing/probe.h), compiled by the runtime at first use and kept: the one
// that compares memory in place, and the one that keeps a device busy.
#pragma once

#include <optional>

#include "check.hpp"
#include "module.h"
#include "work.hpp"

namespace sluice::backends::sycl {

enum class ProbeKernel { kCheck, kWork };

// Gives a kernel of find_probe_kernel() what it is to look at, or how long to compute.
void set_task(::sycl::handler *handler, const kernels::CheckTask &task);
void set_task(::sycl::handler *handler, const kernels::WorkTask &task);

// The kernel runs in a one-dimensional nd-range of any size. Compiling it takes seconds and
// blocks. SLUICE_ERROR_UNSUPPORTED with the compiler's words when it cannot be compiled. Throws what the runtime
// throws.
sluice_result_t find_probe_kernel(ProbeKernel which, const ::sycl::context &context, const ::sycl::device &device,
                                  std::optional<::sycl::kernel> *kernel);

}  // namespace sluice::backends::sycl
