// SPDX-License-Identifier: BSD-3-Clause
// Reductions by the device. An optional group: both functions stand in the table or none; without it MPI's reductions
// go through the host.
#include "module.h"

namespace sluice::backends::template_backend {

// What the kernels that were compiled from kernels/ hold (kernels/list.hpp lists all pairs). Leave out what the device
// cannot compute with, double for instance.
int32_t can_reduce(int32_t /*device*/, sluice_element_t /*element*/, sluice_operation_t /*operation*/) {
  return 0;
}

// Check the numbers and the addresses, fill a kernels::Task, and launch the pair's kernel, whose items each call
// kernels::reduce_share. backends/reduction.h checks what is the same for all.
sluice_result_t enqueue_reduction(sluice_queue_t * /*queue*/, const sluice_reduction_t * /*reduction*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend
