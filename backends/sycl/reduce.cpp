// SPDX-License-Identifier: BSD-3-Clause
// Reductions by kernels of the runtime.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "../reduction.h"
#include "queue.h"
#include "reduce_kernels.h"
#include "runtime.h"

namespace sluice::backends::sycl {
namespace {

constexpr size_t kGroupItems = 256;
// Work-groups for each compute unit, as far as there is work: enough to hide memory behind others that compute.
constexpr size_t kGroupsPerUnit = 16;

bool needs_double(sluice_element_t element) {
  return element == SLUICE_ELEMENT_FLOAT64 || element == SLUICE_ELEMENT_COMPLEX_FLOAT64 ||
         element == SLUICE_ELEMENT_PAIR_FLOAT64 || element == SLUICE_ELEMENT_TWO_FLOAT64;
}

// A kernel of the CPU device reaches all memory of the process; others reach what the runtime knows.
sluice_result_t check_reach(const ::sycl::device &device, std::span<const void *const> addresses) {
  if (device.is_cpu()) return SLUICE_SUCCESS;
  for (const void *address : addresses) {
    if (find_allocation(Runtime::start(), address).kind == ::sycl::usm::alloc::unknown) {
      return fail(SLUICE_ERROR_UNSUPPORTED,
                  "reduction: memory that the runtime does not know is out of a kernel's reach");
    }
  }
  return SLUICE_SUCCESS;
}

::sycl::nd_range<1> range_for(const ::sycl::device &device, uint64_t size_bytes) {
  const size_t n_units = std::max<size_t>(1, device.get_info<::sycl::info::device::max_compute_units>());
  const size_t group = std::min(kGroupItems, device.get_info<::sycl::info::device::max_work_group_size>());
  const size_t n_wanted = size_bytes / (kernels::kVectorBytes * group) + 1;
  return {std::min(n_wanted, n_units * kGroupsPerUnit) * group, group};
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
  std::vector<const void *> addresses(reduction->sources, reduction->sources + reduction->n_sources);
  addresses.insert(addresses.begin(), reduction->dst);
  std::optional<::sycl::kernel> kernel;
  const sluice_result_t ready = guarded("kernel", [&] {
    const sluice_result_t reached = check_reach(device_of(queue), addresses);
    if (reached != SLUICE_SUCCESS) return reached;
    return find_kernel(context_for(queue, addresses), device_of(queue), reduction->element, reduction->operation,
                       &kernel);
  });
  if (ready != SLUICE_SUCCESS) return ready;
  return enqueue_command(queue, addresses, [&](::sycl::queue *native) {
    return native->submit([&](::sycl::handler &handler) {
      handler.set_args(task);
      handler.parallel_for(range_for(device_of(queue), size_bytes_of(*reduction)), *kernel);
    });
  });
}

}  // namespace sluice::backends::sycl
