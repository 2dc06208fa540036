// SPDX-License-Identifier: BSD-3-Clause
// A queue beside the program's own. Its tickets are waited for as a whole: the runtime is asked to finish.
#include <cstring>

#include "module.h"

// The contract's opaque type.
struct sluice_queue {
  sluice::backends::opencl::Device *device;
  cl_command_queue native;
  uint64_t last_ticket;
};

namespace sluice::backends::opencl {

sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
  const sluice_result_t known = program_set_device(device);
  if (known != SLUICE_SUCCESS) return known;
  Device *chosen = current_device();
  cl_int native = CL_SUCCESS;
  cl_command_queue made = g_functions.clCreateCommandQueueWithProperties(chosen->context, chosen->id, nullptr, &native);
  if (native != CL_SUCCESS) return translate("clCreateCommandQueueWithProperties", native);
  *queue = new sluice_queue{chosen, made, 0};
  return SLUICE_SUCCESS;
}

sluice_result_t queue_destroy(sluice_queue_t *queue) {
  const sluice_result_t done = translate("clFinish", g_functions.clFinish(queue->native));
  const sluice_result_t freed = translate("clReleaseCommandQueue", g_functions.clReleaseCommandQueue(queue->native));
  delete queue;
  return done != SLUICE_SUCCESS ? done : freed;
}

sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  for (size_t i = 0; i < n_copies; ++i) {
    const sluice_copy_t &one = copies[i];
    if (queue->device->enqueue_memcpy == nullptr) {
      std::memcpy(one.dst, one.src, one.size_bytes);
      continue;
    }
    const cl_int native =
        queue->device->enqueue_memcpy(queue->native, CL_FALSE, one.dst, one.src, one.size_bytes, 0, nullptr, nullptr);
    if (native != CL_SUCCESS) return translate("clEnqueueMemcpyINTEL", native);
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
  *ticket = ++queue->last_ticket;
  return SLUICE_SUCCESS;
}

sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t /*ticket*/) {
  return translate("clFinish", g_functions.clFinish(queue->native));
}

}  // namespace sluice::backends::opencl
