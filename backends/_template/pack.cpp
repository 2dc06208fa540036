// SPDX-License-Identifier: BSD-3-Clause
// Data with gaps, brought together or apart by the device. An optional group: all four functions stand in the table or
// none; without it each block is a copy.
#include "module.h"

namespace sluice::backends::template_backend {

int32_t can_pack(int32_t /*device*/) {
  return 0;
}

// Let backends/packing.h check the numbers and fill a kernels::PackTask, or a kernels::RearrangeTask where there are
// two layouts; see that the device reaches the ranges of memory, lists too; and launch a kernel whose items each call
// kernels::pack_share or kernels::rearrange_share.
sluice_result_t enqueue_pack(sluice_queue_t * /*queue*/, const sluice_pack_t * /*pack*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

sluice_result_t device_alloc(int32_t /*device*/, size_t /*size_bytes*/, void **memory) {
  *memory = nullptr;
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

sluice_result_t device_free(int32_t /*device*/, void * /*memory*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend
