// SPDX-License-Identifier: BSD-3-Clause
// What all kernels of this module are launched by.
#pragma once

#include "kernels.h"
#include "queue.h"

namespace sluice::backends::cuda {

// Whether a kernel in `queue` may touch `address`: SLUICE_ERROR_UNSUPPORTED with the reason where it may not. The
// queue's context is current.
sluice_result_t check_reach(const sluice_queue &queue, const void *address);
// The same in any stream of the device whose context is current.
sluice_result_t check_reached_by(int32_t device, const void *address);

// How many blocks a launch has at most.
enum class Blocks : uint8_t {
  kBeside,  // so few that copy engines, which read and write the same memory, are not slowed
  kLean,    // as few as fill the links, for long copies: others' kernels and copies go on beside
  kFew,     // for each processor so many that more gain nothing for most kernels, and take room from the program's own
  kResident,  // as many as are there at the same time: what waits for memory that is far apart gains by that
  kAny,       // short ones, one after another, each of which makes room when it ends; for strides, which then go
              // through memory in one front
};

// How much work there is: `n_parts` parts, each with items of its own, of at most `size_bytes` bytes.
struct Work {
  uint64_t n_parts;
  uint64_t size_bytes;
  Blocks blocks = Blocks::kFew;
};

// How many blocks of kBlockThreads share it.
unsigned blocks_for(const Kernel &kernel, const Work &work);

// Enqueues the kernel of `text` behind what is in the queue, whose context is current; loads it there when that context
// has not had it yet. `task`, of `task_bytes`, is its argument, copied. SLUICE_ERROR_UNSUPPORTED: it cannot be loaded,
// and nothing was enqueued.
sluice_result_t launch(sluice_queue *queue, const KernelText &text, const Work &work, void *task, size_t task_bytes);
template <typename Task>
sluice_result_t launch(sluice_queue *queue, const KernelText &text, const Work &work, Task *task) {
  return launch(queue, text, work, task, sizeof(*task));
}

}  // namespace sluice::backends::cuda
