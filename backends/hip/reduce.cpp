// SPDX-License-Identifier: BSD-3-Clause
// Reductions by kernels.
#include "../reduction.h"
#include "launch.h"

namespace sluice::backends::hip {

namespace {

// Each address as the device has it.
sluice_result_t translate_addresses(int32_t device, kernels::Task *task) {
  for (uint32_t k = 0; k < task->n_dsts; ++k) {
    void *found = nullptr;
    const sluice_result_t result = device_address(device, task->dsts[k], &found);
    if (result != SLUICE_SUCCESS) return result;
    task->dsts[k] = static_cast<unsigned char *>(found);
  }
  for (uint32_t k = 0; k < task->n_sources; ++k) {
    void *found = nullptr;
    const sluice_result_t result = device_address(device, task->sources[k], &found);
    if (result != SLUICE_SUCCESS) return result;
    task->sources[k] = static_cast<const unsigned char *>(found);
  }
  return SLUICE_SUCCESS;
}

}  // namespace

int32_t can_reduce(int32_t device, sluice_element_t element, sluice_operation_t operation) {
  const bool can = is_legal(element, operation) && can_run_kernels(device);
  return can ? 1 : 0;
}

sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  sluice_result_t result = failure_of(*queue);
  if (result != SLUICE_SUCCESS) return result;
  kernels::Task task;
  const Outcome made = make_task(reduction, &task);
  if (!made.is_success()) return fail(made.result, made.text);
  if (task.count == 0) return SLUICE_SUCCESS;
  if (can_reduce(queue->device, reduction->element, reduction->operation) == 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "no kernel of " + pair_name(reduction->element, reduction->operation) +
                                              ": the runtime's compiler (libhiprtc) is not there");
  }
  const DeviceScope scope(queue->device);
  result = scope.result();
  if (result == SLUICE_SUCCESS) result = translate_addresses(queue->device, &task);
  if (result != SLUICE_SUCCESS) return result;
  return launch(queue, reduction_body(reduction->element, reduction->operation), {1, size_bytes_of(*reduction)}, &task);
}

}  // namespace sluice::backends::hip
