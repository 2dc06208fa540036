// SPDX-License-Identifier: BSD-3-Clause
// Data with gaps, brought together and apart by a kernel; and memory of the device.
#include <algorithm>

#include "../packing.h"
#include "../reduction.h"
#include "launch.h"
#include "waits.h"

namespace sluice::backends::hip {

namespace {

// What lies at `*address` is found through the range, which need not begin there.
sluice_result_t translate_range(int32_t device, const PackRange &range, unsigned char **address) {
  void *found = nullptr;
  const sluice_result_t result = device_range(device, range.address, range.size_bytes, &found);
  if (result == SLUICE_SUCCESS) *address += static_cast<char *>(found) - static_cast<char *>(range.address);
  return result;
}

sluice_result_t translate_list(int32_t device, const int32_t **list) {
  if (*list == nullptr) return SLUICE_SUCCESS;
  void *found = nullptr;
  const sluice_result_t result = device_address(device, *list, &found);
  *list = static_cast<const int32_t *>(found);
  return result;
}

sluice_result_t translate_addresses(int32_t device, const sluice_pack_t &pack, kernels::PackTask *task) {
  sluice_result_t result = translate_range(device, memory_of(pack), &task->inside.origin);
  if (result == SLUICE_SUCCESS) result = translate_range(device, beside_of(pack), &task->beside);
  return result == SLUICE_SUCCESS ? translate_list(device, &task->inside.list) : result;
}

sluice_result_t translate_addresses(int32_t device, const sluice_pack_t &pack, kernels::RearrangeTask *task) {
  const bool is_packing = pack.direction == SLUICE_PACK;
  kernels::UnitLayout &inside = is_packing ? task->from : task->to;
  kernels::UnitLayout &beside = is_packing ? task->to : task->from;
  sluice_result_t result = translate_range(device, memory_of(pack), &inside.origin);
  if (result == SLUICE_SUCCESS) result = translate_range(device, beside_of(pack), &beside.origin);
  if (result == SLUICE_SUCCESS) result = translate_list(device, &inside.list);
  return result == SLUICE_SUCCESS ? translate_list(device, &beside.list) : result;
}

template <typename Task>
sluice_result_t enqueue_task(sluice_queue_t *queue, const sluice_pack_t *pack, const Outcome &made, Task *task,
                             const KernelBody &body) {
  if (!made.is_success()) return fail(made.result, made.text);
  if (task->count == 0) return SLUICE_SUCCESS;
  if (!can_run_kernels(queue->device)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "no kernels here: the runtime's compiler (libhiprtc) is not there");
  }
  const DeviceScope scope(queue->device);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = translate_addresses(queue->device, *pack, task);
  if (result != SLUICE_SUCCESS) return result;
  // As many items as there would be vectors, were all of them whole.
  return launch(queue, body, {1, task->count * kernels::kVectorBytes}, task);
}

}  // namespace

int32_t can_pack(int32_t device) {
  return can_run_kernels(device) ? 1 : 0;
}

sluice_result_t enqueue_pack(sluice_queue_t *queue, const sluice_pack_t *pack) {
  const sluice_result_t result = failure_of(*queue);
  if (result != SLUICE_SUCCESS) return result;
  if (has_two_layouts(pack)) {
    kernels::RearrangeTask task;
    const Outcome made = make_rearrange_task(pack, &task);
    return enqueue_task(queue, pack, made, &task, rearrange_body());
  }
  kernels::PackTask task;
  const Outcome made = make_pack_task(pack, &task);
  return enqueue_task(queue, pack, made, &task, pack_body());
}

sluice_result_t device_alloc(int32_t device, size_t size_bytes, void **memory) {
  *memory = nullptr;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  run_releases();
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  return translate("hipMalloc", g_runtime.hipMalloc(memory, std::max<size_t>(size_bytes, 1)));
}

// A device that was reset and a runtime that is shut down have let go of the memory themselves.
sluice_result_t device_free(int32_t device, void *memory) {
  if (memory == nullptr) return SLUICE_SUCCESS;
  return give_back([device, memory] {
    const DeviceScope scope(device);
    const hipError_t native = scope.result() == SLUICE_SUCCESS ? g_runtime.hipFree(memory) : hipErrorDeinitialized;
    const bool is_gone = native == hipErrorDeinitialized || native == hipErrorContextIsDestroyed ||
                         native == hipErrorInvalidValue || native == hipErrorInvalidDevicePointer;
    return is_gone ? SLUICE_SUCCESS : translate("hipFree", native);
  });
}

}  // namespace sluice::backends::hip
