// SPDX-License-Identifier: BSD-3-Clause
// The `program` group: what a program does with the runtime, in the calls that a program makes.
#include <memory>
#include <mutex>
#include <vector>

#include "runtime.h"

namespace sluice::backends::sycl {

namespace {

thread_local int32_t t_device = 0;

// One in-order queue for each device, as a program would have; made when first needed and kept to the end.
::sycl::queue &program_queue(int32_t device) {
  static std::mutex mutex;
  static auto *queues = new std::vector<std::unique_ptr<::sycl::queue>>();
  Runtime &runtime = Runtime::start();
  const std::scoped_lock lock(mutex);
  queues->resize(runtime.devices().size());
  std::unique_ptr<::sycl::queue> &queue = queues->at(static_cast<size_t>(device));
  if (queue == nullptr) {
    queue = std::make_unique<::sycl::queue>(runtime.default_context(device).context,
                                            runtime.devices()[static_cast<size_t>(device)],
                                            ::sycl::property::queue::in_order());
  }
  return *queue;
}

void *allocate(sluice_memory_kind_t kind, size_t size, ::sycl::queue &queue) {
  if (kind == SLUICE_MEMORY_DEVICE) return ::sycl::malloc_device(size, queue);
  return kind == SLUICE_MEMORY_PINNED ? ::sycl::malloc_host(size, queue) : ::sycl::malloc_shared(size, queue);
}

}  // namespace

sluice_result_t program_set_device(int32_t device) {
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("queue", [&] {
    program_queue(device);
    t_device = device;
    return SLUICE_SUCCESS;
  });
}

int32_t program_device() {
  return t_device;
}

sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory) {
  *memory = nullptr;
  if (kind == SLUICE_MEMORY_HOST || kind == SLUICE_MEMORY_FREED)
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "program_alloc makes pinned, device and shared memory only");
  const sluice_result_t known = check_device(t_device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("malloc_device, malloc_host or malloc_shared", [&] {
    ::sycl::queue &queue = program_queue(t_device);
    if (kind == SLUICE_MEMORY_SHARED && !queue.get_device().has(::sycl::aspect::usm_shared_allocations))
      return fail(SLUICE_ERROR_UNSUPPORTED, "the device has no shared allocations");
    *memory = allocate(kind, size_bytes == 0 ? 1 : size_bytes, queue);
    if (*memory != nullptr) return SLUICE_SUCCESS;
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "the runtime gave no " + std::to_string(size_bytes) + " bytes");
  });
}

sluice_result_t program_free(void *memory) {
  if (memory == nullptr || is_exiting()) return SLUICE_SUCCESS;
  return guarded("free", [&] {
    const Found found = find_allocation(Runtime::start(), memory);
    if (found.context == nullptr)
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, "this address is no allocation of the runtime");
    ::sycl::free(memory, found.context->context);
    return SLUICE_SUCCESS;
  });
}

sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes) {
  const sluice_result_t known = check_device(t_device);
  if (known != SLUICE_SUCCESS || size_bytes == 0) return known;
  return guarded("memcpy", [&] {
    program_queue(t_device).memcpy(dst, src, size_bytes).wait();
    return SLUICE_SUCCESS;
  });
}

sluice_result_t program_synchronize() {
  const sluice_result_t known = check_device(t_device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("wait", [&] {
    program_queue(t_device).wait();
    return SLUICE_SUCCESS;
  });
}

}  // namespace sluice::backends::sycl
