// SPDX-License-Identifier: BSD-3-Clause
// Copies by a kernel, and elements that it compares and swaps; holds its text, which compile_kernels.cpp writes while
// the module is built.
#include "../kernel_copies.h"

#include "launch.h"

namespace sluice::backends::cuda {

namespace {

constexpr KernelText kText =
#include "copies.inc"
    ;

// From here on a launch is a small part of the time.
constexpr uint64_t kLongBytes = uint64_t{2} << 20U;

sluice_result_t check_all_reached(const sluice_queue &queue, const kernels::CopyTask &task) {
  for (uint64_t k = 0; k < task.n_copies; ++k) {
    for (const void *address :
         {static_cast<const void *>(task.copies[k].dst), static_cast<const void *>(task.copies[k].src)}) {
      if (const sluice_result_t result = check_reach(queue, address); result != SLUICE_SUCCESS) return result;
    }
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue(sluice_queue *queue, MadeCopyTask wanted) {
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  if (!wanted.made.is_success()) return fail(wanted.made.result, wanted.made.text);
  kernels::CopyTask &task = wanted.task;
  if (task.n_copies == 0) return SLUICE_SUCCESS;
  if (!can_run_kernels(queue->device))
    return fail(SLUICE_ERROR_UNSUPPORTED, "this device runs no kernels of the module");
  const ContextScope scope(queue->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_all_reached(*queue, task);
  if (result != SLUICE_SUCCESS) return result;
  const uint64_t longest = longest_bytes(task);
  return launch(queue, kText, {task.n_copies, longest, longest < kLongBytes ? Blocks::kFew : Blocks::kLean}, &task);
}

}  // namespace

sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return enqueue(queue, make_copy_task(copies, n_copies));
}

sluice_result_t enqueue_compare_and_swap(sluice_queue_t *queue, const sluice_swap_t *swap) {
  return enqueue(queue, make_swap_task(swap));
}

}  // namespace sluice::backends::cuda
