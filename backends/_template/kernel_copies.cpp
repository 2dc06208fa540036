// SPDX-License-Identifier: BSD-3-Clause
// Copies by a kernel. Optional; without it lists of copies go the way of enqueue_copies.
#include "module.h"

namespace sluice::backends::template_backend {

// Check the numbers and the addresses, fill a kernels::CopyTask, and launch the kernel, whose items each call
// kernels::copy_share. backends/kernel_copies.h checks what is the same for all.
sluice_result_t enqueue_kernel_copies(sluice_queue_t * /*queue*/, const sluice_copy_t * /*copies*/,
                                      size_t /*n_copies*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// The same kernel, with the task that make_swap_task fills.
sluice_result_t enqueue_compare_and_swap(sluice_queue_t * /*queue*/, const sluice_swap_t * /*swap*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend
