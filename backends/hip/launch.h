// SPDX-License-Identifier: BSD-3-Clause
// What all kernels of this module are launched by.
#pragma once

#include "kernel_compiler.h"
#include "queue.h"

namespace sluice::backends::hip {

// A kernel in a device's memory; there until the process ends.
struct Kernel {
  hipFunction_t function = nullptr;
  unsigned n_processors = 1;
  unsigned most_blocks = 1;  // of kBlockThreads that are worth their launch
};

// Whether `device`, its runtime and the compiler can make and run kernels. Never compiles. Any thread.
bool can_run_kernels(int32_t device);

// The kernel for `device`, which is current; compiles and loads it when that device has not had it yet, which blocks
// for about half a second. SLUICE_ERROR_UNSUPPORTED: it cannot be had, which is tried no second time. Any thread.
sluice_result_t find_kernel(int32_t device, const KernelBody &body, Kernel *kernel);

// Enqueues it into a stream of its device, which is current. `task` is its one argument, copied.
sluice_result_t launch_in(hipStream_t stream, const Kernel &kernel, unsigned n_blocks, unsigned n_threads, void *task);

// How much work there is: `n_parts` parts, each with items of its own, of at most `size_bytes` bytes.
struct Work {
  uint64_t n_parts;
  uint64_t size_bytes;
};

// The same, with as many blocks as the work needs.
sluice_result_t launch_in(hipStream_t stream, const Kernel &kernel, const Work &work, void *task);

// Both, behind what is in the queue, with as many blocks as the work needs. After an error nothing was enqueued.
sluice_result_t launch(sluice_queue_t *queue, const KernelBody &body, const Work &work, void *task);

}  // namespace sluice::backends::hip
