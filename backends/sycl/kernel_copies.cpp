// SPDX-License-Identifier: BSD-3-Clause
// Copies by a kernel of the runtime, and elements that it compares and swaps.
#include "../kernel_copies.h"

#include <optional>
#include <vector>

#include "launch.h"
#include "queue.h"
#include "reduce_kernels.h"

namespace sluice::backends::sycl {
namespace {

sluice_result_t enqueue(sluice_queue_t *queue, const MadeCopyTask &wanted) {
  if (!wanted.made.is_success()) return fail(wanted.made.result, wanted.made.text);
  const kernels::CopyTask &task = wanted.task;
  if (task.n_copies == 0) return SLUICE_SUCCESS;
  std::vector<const void *> addresses;
  for (uint64_t k = 0; k < task.n_copies; ++k) {
    addresses.push_back(task.copies[k].dst);
    addresses.push_back(task.copies[k].src);
  }
  std::optional<::sycl::kernel> kernel;
  const sluice_result_t ready = guarded("kernel", [&] {
    const sluice_result_t reached = check_reach(device_of(queue), addresses);
    if (reached != SLUICE_SUCCESS) return reached;
    if (!can_compile(device_of(queue)))
      return fail(SLUICE_ERROR_UNSUPPORTED, "no kernels can be compiled for the device");
    return find_copies_kernel(context_for(queue, addresses), device_of(queue), task, &kernel);
  });
  if (ready != SLUICE_SUCCESS) return ready;
  return enqueue_command(queue, addresses, [&](::sycl::queue *native) {
    return native->submit([&](::sycl::handler &handler) {
      set_task(&handler, task);
      handler.parallel_for(range_for(device_of(queue), task.n_copies, longest_bytes(task)), *kernel);
    });
  });
}

}  // namespace

sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return enqueue(queue, make_copy_task(copies, n_copies));
}

sluice_result_t enqueue_compare_and_swap(sluice_queue_t *queue, const sluice_swap_t *swap) {
  return enqueue(queue, make_swap_task(swap));
}

}  // namespace sluice::backends::sycl
