// SPDX-License-Identifier: BSD-3-Clause
// Data with gaps, brought together and apart by a kernel; and memory of the device. There are kernels for strides
// and for lists of words, and one for all the rest (kernels/pack.hpp).
#include <algorithm>

#include "../packing.h"
#include "../reduction.h"
#include "launch.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

constexpr KernelText kPackText =
#include "pack.inc"
    ;
constexpr KernelText kPackStridesText =
#include "pack_strides.inc"
    ;
constexpr KernelText kPackListText =
#include "pack_list.inc"
    ;
constexpr KernelText kRearrangeText =
#include "rearrange.inc"
    ;
constexpr KernelText kRearrangeWordsText =
#include "rearrange_words.inc"
    ;

// A kernel that touches an address that is none for it takes the context with it, so both ends of each range are asked
// for.
sluice_result_t check_range(const sluice_queue &queue, const PackRange &range) {
  sluice_result_t result = check_reach(queue, range.address);
  if (result == SLUICE_SUCCESS && range.size_bytes > 1) {
    result = check_reach(queue, static_cast<const char *>(range.address) + range.size_bytes - 1);
  }
  return result;
}

sluice_result_t check_ranges(const sluice_queue &queue, const sluice_pack_t &pack) {
  sluice_result_t result = check_range(queue, memory_of(pack));
  if (result == SLUICE_SUCCESS) result = check_range(queue, beside_of(pack));
  if (result == SLUICE_SUCCESS && pack.layout.n_blocks != 0) result = check_reach(queue, pack.layout.list);
  if (result == SLUICE_SUCCESS && has_two_layouts(&pack) && pack.beside_layout.n_blocks != 0) {
    result = check_reach(queue, pack.beside_layout.list);
  }
  return result;
}

template <typename Task>
sluice_result_t enqueue_task(sluice_queue_t *queue, const sluice_pack_t *pack, const Outcome &made, Task *task,
                             const KernelText &text, Blocks blocks) {
  if (!made.is_success()) return fail(made.result, made.text);
  if (task->count == 0) return SLUICE_SUCCESS;
  const ContextScope scope(queue->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_ranges(*queue, *pack);
  if (result != SLUICE_SUCCESS) return result;
  // As many items as there would be vectors, were all of them whole.
  return launch(queue, text, {1, task->count * kernels::kVectorBytes, blocks}, task);
}

}  // namespace

int32_t can_pack(int32_t device) {
  return can_run_kernels(device) ? 1 : 0;
}

sluice_result_t enqueue_pack(sluice_queue_t *queue, const sluice_pack_t *pack) {
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  if (has_two_layouts(pack)) {
    kernels::RearrangeTask task;
    const Outcome made = make_rearrange_task(pack, &task);
    if (!has_words(task)) return enqueue_task(queue, pack, made, &task, kRearrangeText, Blocks::kFew);
    const bool has_list = task.from.list != nullptr || task.to.list != nullptr;
    return enqueue_task(queue, pack, made, &task, kRearrangeWordsText, has_list ? Blocks::kResident : Blocks::kAny);
  }
  kernels::PackTask task;
  const Outcome made = make_pack_task(pack, &task);
  if (!has_words(task)) return enqueue_task(queue, pack, made, &task, kPackText, Blocks::kFew);
  if (task.inside.list != nullptr) return enqueue_task(queue, pack, made, &task, kPackListText, Blocks::kResident);
  return enqueue_task(queue, pack, made, &task, kPackStridesText, Blocks::kAny);
}

sluice_result_t device_alloc(int32_t device, size_t size_bytes, void **memory) {
  *memory = nullptr;
  run_releases();
  return in_context_of(device, [&] {
    CUdeviceptr address = 0;
    const sluice_result_t result =
        translate("cuMemAlloc", g_driver.cuMemAlloc(&address, std::max<size_t>(size_bytes, 1)));
    if (result == SLUICE_SUCCESS) *memory = reinterpret_cast<void *>(address);
    return result;
  });
}

sluice_result_t device_free(int32_t device, void *memory) {
  if (memory == nullptr) return SLUICE_SUCCESS;
  return give_back(device, "cuMemFree", CUDA_ERROR_INVALID_VALUE,
                   [memory] { return g_driver.cuMemFree(reinterpret_cast<CUdeviceptr>(memory)); });
}

}  // namespace sluice::backends::cuda
