// SPDX-License-Identifier: BSD-3-Clause
// Data with gaps, brought together and apart by a kernel of the runtime; and memory of the device.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "../packing.h"
#include "launch.h"
#include "native_range.h"
#include "queue.h"
#include "reduce_kernels.h"
#include "runtime.h"
#include "waits.h"

namespace sluice::backends::sycl {
namespace {

constexpr size_t kAlignment = 256;

using FindKernel = sluice_result_t(const ::sycl::context &context, const ::sycl::device &device,
                                   std::optional<::sycl::kernel> *kernel);

// A kernel that touches an address that is none for it takes the device with it. So a range is to lie in one
// allocation; where the driver does not say, both of its ends are to be memory. Throws what the runtime throws.
sluice_result_t check_range(const ::sycl::device &device, const PackRange &range) {
  const auto *first = static_cast<const char *>(range.address);
  const std::array<const void *, 2> ends = {first, first + std::max<uint64_t>(range.size_bytes, 1) - 1};
  const sluice_result_t reached = check_reach(device, ends);
  if (reached != SLUICE_SUCCESS || device.is_cpu()) return reached;
  const Found found = find_allocation(Runtime::start(), first);
  NativeRange allocation;
  const bool is_told =
      found.context != nullptr && find_native_range(found.context->context, first, &allocation).is_success();
  if (!is_told || reinterpret_cast<std::uintptr_t>(ends[1]) - allocation.begin < allocation.size_bytes) {
    return SLUICE_SUCCESS;
  }
  return fail(SLUICE_ERROR_UNSUPPORTED, "kernel: memory that is not of one allocation");
}

template <typename Task>
sluice_result_t enqueue_task(sluice_queue_t *queue, const sluice_pack_t *pack, const Outcome &made, const Task &task,
                             FindKernel *find) {
  if (!made.is_success()) return fail(made.result, made.text);
  if (task.count == 0) return SLUICE_SUCCESS;
  std::vector<const void *> addresses = {memory_of(*pack).address, beside_of(*pack).address};
  if (pack->layout.n_blocks != 0) addresses.push_back(pack->layout.list);
  if (has_two_layouts(pack) && pack->beside_layout.n_blocks != 0) addresses.push_back(pack->beside_layout.list);
  std::optional<::sycl::kernel> kernel;
  const sluice_result_t ready = guarded("kernel", [&] {
    sluice_result_t reached = check_reach(device_of(queue), addresses);
    if (reached == SLUICE_SUCCESS) reached = check_range(device_of(queue), memory_of(*pack));
    if (reached == SLUICE_SUCCESS) reached = check_range(device_of(queue), beside_of(*pack));
    if (reached != SLUICE_SUCCESS) return reached;
    return find(context_for(queue, addresses), device_of(queue), &kernel);
  });
  if (ready != SLUICE_SUCCESS) return ready;
  return enqueue_command(queue, addresses, [&](::sycl::queue *native) {
    return native->submit([&](::sycl::handler &handler) {
      set_task(&handler, task);
      handler.parallel_for(range_for(device_of(queue), 1, task.count * sizeof(kernels::Unit<16>)), *kernel);
    });
  });
}

}  // namespace

int32_t can_pack(int32_t device) {
  if (check_device(device) != SLUICE_SUCCESS) return 0;
  int32_t answer = 0;
  const sluice_result_t result = guarded("device", [&] {
    answer = can_compile(Runtime::start().devices()[static_cast<size_t>(device)]) ? 1 : 0;
    return SLUICE_SUCCESS;
  });
  return result == SLUICE_SUCCESS ? answer : 0;
}

sluice_result_t enqueue_pack(sluice_queue_t *queue, const sluice_pack_t *pack) {
  if (has_two_layouts(pack)) {
    kernels::RearrangeTask task;
    const Outcome made = make_rearrange_task(pack, &task);
    return enqueue_task(queue, pack, made, task, find_rearrange_kernel);
  }
  kernels::PackTask task;
  const Outcome made = make_pack_task(pack, &task);
  return enqueue_task(queue, pack, made, task, find_pack_kernel);
}

sluice_result_t device_alloc(int32_t device, size_t size_bytes, void **memory) {
  *memory = nullptr;
  run_releases();
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("aligned_alloc_device", [&] {
    Runtime &runtime = Runtime::start();
    *memory = ::sycl::aligned_alloc_device(kAlignment, std::max<size_t>(size_bytes, 1),
                                           runtime.devices()[static_cast<size_t>(device)],
                                           runtime.default_context(device).context);
    if (*memory != nullptr) return SLUICE_SUCCESS;
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "aligned_alloc_device gave no " + std::to_string(size_bytes) + " bytes");
  });
}

// While the process exits the memory is left to its end.
sluice_result_t device_free(int32_t device, void *memory) {
  if (memory == nullptr || is_exiting()) return SLUICE_SUCCESS;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return give_back([device, memory] {
    return guarded("free", [&] {
      ::sycl::free(memory, Runtime::start().default_context(device).context);
      return SLUICE_SUCCESS;
    });
  });
}

}  // namespace sluice::backends::sycl
