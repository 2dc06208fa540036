// SPDX-License-Identifier: BSD-3-Clause
// Copies by a kernel, and elements that it compares and swaps.
#include "../kernel_copies.h"

#include "launch.h"

namespace sluice::backends::hip {

namespace {

// Each address as the device has it.
sluice_result_t translate_addresses(int32_t device, kernels::CopyTask *task) {
  for (uint64_t k = 0; k < task->n_copies; ++k) {
    kernels::CopyOfBytes &copy = task->copies[k];
    void *found = nullptr;
    sluice_result_t result = device_address(device, copy.dst, &found);
    if (result != SLUICE_SUCCESS) return result;
    copy.dst = static_cast<unsigned char *>(found);
    result = device_address(device, copy.src, &found);
    if (result != SLUICE_SUCCESS) return result;
    copy.src = static_cast<const unsigned char *>(found);
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue(sluice_queue_t *queue, MadeCopyTask wanted) {
  sluice_result_t result = failure_of(*queue);
  if (result != SLUICE_SUCCESS) return result;
  if (!wanted.made.is_success()) return fail(wanted.made.result, wanted.made.text);
  kernels::CopyTask &task = wanted.task;
  if (task.n_copies == 0) return SLUICE_SUCCESS;
  if (!can_run_kernels(queue->device)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "no kernels here: the runtime's compiler (libhiprtc) is not there");
  }
  const DeviceScope scope(queue->device);
  result = scope.result();
  if (result == SLUICE_SUCCESS) result = translate_addresses(queue->device, &task);
  if (result != SLUICE_SUCCESS) return result;
  return launch(queue, copies_body(), {task.n_copies, longest_bytes(task)}, &task);
}

}  // namespace

sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return enqueue(queue, make_copy_task(copies, n_copies));
}

sluice_result_t enqueue_compare_and_swap(sluice_queue_t *queue, const sluice_swap_t *swap) {
  return enqueue(queue, make_swap_task(swap));
}

}  // namespace sluice::backends::hip
