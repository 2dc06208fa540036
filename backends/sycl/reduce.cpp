// SPDX-License-Identifier: BSD-3-Clause
// Reductions by kernels of the runtime.
#include <optional>
#include <vector>

#include "../reduction.h"
#include "launch.h"
#include "queue.h"
#include "reduce_kernels.h"
#include "runtime.h"

namespace sluice::backends::sycl {
namespace {

bool needs_double(sluice_element_t element) {
  return element == SLUICE_ELEMENT_FLOAT64 || element == SLUICE_ELEMENT_COMPLEX_FLOAT64 ||
         element == SLUICE_ELEMENT_PAIR_FLOAT64 || element == SLUICE_ELEMENT_TWO_FLOAT64;
}

}  // namespace

int32_t can_reduce(int32_t device, sluice_element_t element, sluice_operation_t operation) {
  if (!is_legal(element, operation) || check_device(device) != SLUICE_SUCCESS) return 0;
  int32_t answer = 0;
  const sluice_result_t result = guarded("device", [&] {
    const ::sycl::device &of = Runtime::start().devices()[static_cast<size_t>(device)];
    const bool has_numbers = !needs_double(element) || of.has(::sycl::aspect::fp64);
    answer = has_numbers && can_compile(of) ? 1 : 0;
    return SLUICE_SUCCESS;
  });
  return result == SLUICE_SUCCESS ? answer : 0;
}

sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  kernels::Task task;
  const Outcome made = make_task(reduction, &task);
  if (!made.is_success()) return fail(made.result, made.text);
  if (task.count == 0) return SLUICE_SUCCESS;
  std::vector<const void *> addresses(reduction->dsts, reduction->dsts + reduction->n_dsts);
  addresses.insert(addresses.end(), reduction->sources, reduction->sources + reduction->n_sources);
  std::optional<::sycl::kernel> kernel;
  const sluice_result_t ready = guarded("kernel", [&] {
    const sluice_result_t reached = check_reach(device_of(queue), addresses);
    if (reached != SLUICE_SUCCESS) return reached;
    return find_kernel(context_for(queue, addresses), device_of(queue), reduction->element, reduction->operation, task,
                       &kernel);
  });
  if (ready != SLUICE_SUCCESS) return ready;
  return enqueue_command(queue, addresses, [&](::sycl::queue *native) {
    return native->submit([&](::sycl::handler &handler) {
      set_task(&handler, task);
      handler.parallel_for(range_for(device_of(queue), 1, size_bytes_of(*reduction)), *kernel);
    });
  });
}

}  // namespace sluice::backends::sycl
