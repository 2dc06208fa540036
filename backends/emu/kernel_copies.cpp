// SPDX-License-Identifier: BSD-3-Clause
// Copies by a kernel, and elements that it compares and swaps: the body of kernels/copy.hpp, run by the queue's thread.
#include "../kernel_copies.h"

#include <array>

#include "module.h"

namespace sluice::backends::emu {
namespace {

// The ranges of the launch are the destinations and then the sources.
void run_copies(const void *arguments, void *const *memory) {
  kernels::CopyTask task;
  __builtin_memcpy(&task, arguments, sizeof(task));
  for (uint64_t k = 0; k < task.n_copies; ++k) {
    task.copies[k].dst = static_cast<unsigned char *>(memory[k]);
    task.copies[k].src = static_cast<const unsigned char *>(memory[task.n_copies + k]);
  }
  kernels::copy_share(task, 0, 1);
}

sluice_result_t enqueue(sluice_queue_t *queue, const MadeCopyTask &wanted) {
  if (!wanted.made.is_success()) return fail(wanted.made.result, wanted.made.text);
  const kernels::CopyTask &task = wanted.task;
  if (task.n_copies == 0) return SLUICE_SUCCESS;
  std::array<emu_range_t, 2 * size_t{kernels::kMaxCopies}> ranges;
  for (uint64_t k = 0; k < task.n_copies; ++k) {
    ranges[k] = {task.copies[k].dst, task.copies[k].size_bytes};
    ranges[task.n_copies + k] = {task.copies[k].src, task.copies[k].size_bytes};
  }
  return translate(emu_launch_async(reinterpret_cast<emu_queue_t *>(queue), run_copies, &task, sizeof(task),
                                    ranges.data(), task.n_copies, 2 * task.n_copies));
}

}  // namespace

sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return enqueue(queue, make_copy_task(copies, n_copies));
}

sluice_result_t enqueue_compare_and_swap(sluice_queue_t *queue, const sluice_swap_t *swap) {
  return enqueue(queue, make_swap_task(swap));
}

}  // namespace sluice::backends::emu
