// SPDX-License-Identifier: BSD-3-Clause
// The kernels of this module: compiled when it is built, loaded when they are first used.
#pragma once

#include "module.h"

namespace sluice::backends::cuda {

// One kernel, as text of the virtual machine that every device's driver translates.
struct KernelText {
  const char *name;  // of its entry
  const char *text;
};

// The reductions, named sluice_reduce_ELEMENT_OPERATION in the words of kernels/list.hpp; null for a pair that there is
// not.
const KernelText *find_reduction_text(sluice_element_t element, sluice_operation_t operation);

// What benchmarks ask for (sluice/testing/probe.h): the kernel that looks at memory (kernels/check.hpp), and the one
// that keeps a device busy (kernels/work.hpp).
const KernelText &check_text();
const KernelText &work_text();

// A kernel in one context.
struct Kernel {
  CUfunction function = nullptr;
  unsigned n_processors = 1;
  unsigned most_blocks = 1;  // of kBlockThreads, that are resident at the same time
};
inline constexpr unsigned kBlockThreads = 512;

// Whether `device` and its driver can run kernels of this module. Any thread.
bool can_run_kernels(int32_t device);

// The kernel in the current context, which is of `device`; loads it there when it is asked for first, which waits for
// all that runs in the context and takes the driver milliseconds to a second. SLUICE_ERROR_UNSUPPORTED with a text: the
// driver does not take it, which is asked no second time. Any thread.
sluice_result_t find_kernel(const KernelText &text, int32_t device, Kernel *kernel);

}  // namespace sluice::backends::cuda
