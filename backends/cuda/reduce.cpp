// SPDX-License-Identifier: BSD-3-Clause
// Reductions by kernels.
#include "../reduction.h"
#include "launch.h"
#include "mappings.h"

namespace sluice::backends::cuda {

namespace {

sluice_result_t check_all_reached(const sluice_queue &queue, const kernels::Task &task) {
  for (uint32_t k = 0; k < task.n_dsts; ++k) {
    if (const sluice_result_t result = check_reach(queue, task.dsts[k]); result != SLUICE_SUCCESS) return result;
  }
  for (uint32_t k = 0; k < task.n_sources; ++k) {
    if (const sluice_result_t result = check_reach(queue, task.sources[k]); result != SLUICE_SUCCESS) return result;
  }
  return SLUICE_SUCCESS;
}

// An update of memory that another process has exported: it may be another device's, and the link is read and written
// at once. Short blocks in one front do that in 0.80 to 0.91 of the time of a few (8 to 64 MiB, two H200s,
// docs/adr/0078).
bool is_update_elsewhere(const sluice_queue &queue, const kernels::Task &task) {
  return task.n_dsts == 1 && task.n_sources == 2 && task.dsts[0] == task.sources[1] &&
         is_within_opened(queue.device, queue.context_number, task.dsts[0]);
}

Work work_of(const sluice_reduction_t &reduction, const sluice_queue &queue, const kernels::Task &task) {
  const uint64_t size_bytes = size_bytes_of(reduction);
  if (reduction.is_beside_copies != 0) return {1, size_bytes, Blocks::kBeside};
  if (is_update_elsewhere(queue, task)) return {1, size_bytes, Blocks::kAny};
  return {1, size_bytes, Blocks::kFew};
}

}  // namespace

int32_t can_reduce(int32_t device, sluice_element_t element, sluice_operation_t operation) {
  return find_reduction_text(element, operation) != nullptr && can_run_kernels(device) ? 1 : 0;
}

sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  kernels::Task task;
  const Outcome made = make_task(reduction, &task);
  if (!made.is_success()) return fail(made.result, made.text);
  if (task.count == 0) return SLUICE_SUCCESS;
  const KernelText *text = find_reduction_text(reduction->element, reduction->operation);
  if (text == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "no kernel of " + pair_name(reduction->element, reduction->operation));
  }
  const ContextScope scope(queue->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_all_reached(*queue, task);
  if (result != SLUICE_SUCCESS) return result;
  return launch(queue, *text, work_of(*reduction, *queue, task), &task);
}

}  // namespace sluice::backends::cuda
