// SPDX-License-Identifier: BSD-3-Clause
// The `program_stream` group: what a program does with a queue of its own that it gives to MPIX_Create_queue.
#include <memory>

#include "registered_queues.h"
#include "runtime.h"

namespace sluice::backends::sycl {

// register_context is what sluice_register_context calls.
sluice_result_t program_stream_create(void **native) {
  const int32_t device = program_device();
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("queue", [&] {
    Runtime &runtime = Runtime::start();
    auto made = std::make_unique<::sycl::queue>(runtime.default_context(device).context,
                                                runtime.devices()[static_cast<size_t>(device)],
                                                ::sycl::property::queue::in_order());
    const sluice_result_t result = register_context(made.get());
    if (result == SLUICE_SUCCESS) *native = made.release();
    return result;
  });
}

sluice_result_t program_stream_destroy(void *native) {
  if (is_exiting()) return SLUICE_SUCCESS;
  const sluice_result_t result = program_stream_synchronize(native);
  const std::unique_ptr<::sycl::queue> destroyed(static_cast<::sycl::queue *>(native));
  forget_queue(native);
  return result;
}

sluice_result_t program_stream_copy(void *native, void *dst, const void *src, size_t size_bytes) {
  return guarded("memcpy", [&] {
    static_cast<::sycl::queue *>(native)->memcpy(dst, src, size_bytes);
    return SLUICE_SUCCESS;
  });
}

sluice_result_t program_stream_synchronize(void *native) {
  return guarded("wait", [&] {
    static_cast<::sycl::queue *>(native)->wait_and_throw();
    return SLUICE_SUCCESS;
  });
}

}  // namespace sluice::backends::sycl
