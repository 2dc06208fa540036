// SPDX-License-Identifier: BSD-3-Clause
// Command queues, which execute lists in order, and fences, which tell when they have.
#include <memory>
#include <set>

#include "commands.h"
#include "waiting.h"

namespace sluice::emulated_driver {
namespace {

struct Fence {
  CommandQueue *queue = nullptr;
  uint64_t ticket = 0;  // of what was executed last with it; 0: nothing was
};

// ZE_RESULT_NOT_READY after `timeout_ns`.
ze_result_t wait_for_ticket(emu_queue_t *queue, uint64_t ticket, uint64_t timeout_ns) {
  emu_result_t answer = EMU_NOT_READY;
  const ze_result_t waited = wait_until(timeout_ns, [&] {
    answer = emu_ticket_query(queue, ticket);
    return answer != EMU_NOT_READY;
  });
  return waited == ZE_RESULT_SUCCESS ? result_of(answer) : waited;
}

// All command queues, which a test may hold (emulated_hold_queues). A wait for a fence lets its queue go.
struct Queues {
  std::mutex mutex;
  std::set<emu_queue_t *> all;
  bool are_held = false;
};

Queues &queues() {
  static auto *made = new Queues();
  return *made;
}

emu_result_t hold(emu_queue_t *queue, bool holds) noexcept {
  return holds ? emu_queue_hold(queue) : emu_queue_release(queue);
}

CommandQueue &queue_of(ze_command_queue_handle_t handle) noexcept {
  return *object<CommandQueue>(handle);
}

ze_result_t queue_create(ze_context_handle_t /*context*/, ze_device_handle_t device,
                         const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *handle) noexcept {
  return guarded([&] {
    auto queue = std::make_unique<CommandQueue>();
    queue->is_synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    if (const ze_result_t result = use_device(device); result != ZE_RESULT_SUCCESS) return result;
    emu_result_t result = emu_queue_create(&queue->queue);
    const std::scoped_lock lock(queues().mutex);
    if (result == EMU_SUCCESS) result = hold(queue->queue, queues().are_held);
    if (result != EMU_SUCCESS) return result_of(result);
    queues().all.insert(queue->queue);
    *handle = handle_of<ze_command_queue_handle_t>(queue.release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t queue_destroy(ze_command_queue_handle_t handle) noexcept {
  const std::unique_ptr<CommandQueue> queue(object<CommandQueue>(handle));
  {
    const std::scoped_lock lock(queues().mutex);
    queues().all.erase(queue->queue);
  }
  return result_of(emu_queue_destroy(queue->queue));
}

ze_result_t queue_execute(ze_command_queue_handle_t handle, uint32_t n_lists, ze_command_list_handle_t *lists,
                          ze_fence_handle_t fence) noexcept {
  return guarded([&] {
    CommandQueue &queue = queue_of(handle);
    const std::scoped_lock queue_lock(queue.mutex);
    emu_result_t result = EMU_SUCCESS;
    for (uint32_t i = 0; i < n_lists && result == EMU_SUCCESS; ++i) {
      result = enqueue_all(object<CommandList>(lists[i]), queue.queue);
    }
    if (result == EMU_SUCCESS && fence != nullptr)
      result = emu_queue_record(queue.queue, &object<Fence>(fence)->ticket);
    if (result == EMU_SUCCESS && queue.is_synchronous) result = emu_queue_synchronize(queue.queue);
    return result_of(result);
  });
}

ze_result_t queue_synchronize(ze_command_queue_handle_t handle, uint64_t timeout_ns) noexcept {
  return guarded([&] {
    CommandQueue &queue = queue_of(handle);
    return synchronize(queue.queue, &queue.mutex, timeout_ns);
  });
}

ze_result_t fence_create(ze_command_queue_handle_t queue, const ze_fence_desc_t * /*desc*/,
                         ze_fence_handle_t *handle) noexcept {
  return guarded([&] {
    auto fence = std::make_unique<Fence>();
    fence->queue = object<CommandQueue>(queue);
    *handle = handle_of<ze_fence_handle_t>(fence.release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t fence_destroy(ze_fence_handle_t handle) noexcept {
  const std::unique_ptr<Fence> fence(object<Fence>(handle));
  return ZE_RESULT_SUCCESS;
}

ze_result_t fence_synchronize(ze_fence_handle_t handle, uint64_t timeout_ns) noexcept {
  const Fence &fence = *object<Fence>(handle);
  if (fence.ticket == 0) return ZE_RESULT_NOT_READY;
  if (timeout_ns > 0) {
    const emu_result_t released = emu_queue_release(fence.queue->queue);
    if (released != EMU_SUCCESS) return result_of(released);
  }
  return guarded([&] { return wait_for_ticket(fence.queue->queue, fence.ticket, timeout_ns); });
}

ze_result_t fence_query(ze_fence_handle_t handle) noexcept {
  return fence_synchronize(handle, 0);
}

ze_result_t fence_reset(ze_fence_handle_t handle) noexcept {
  object<Fence>(handle)->ticket = 0;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t synchronize(emu_queue_t *queue, std::mutex *mutex, uint64_t timeout_ns) {
  uint64_t ticket = 0;
  {
    const std::scoped_lock lock(*mutex);
    if (const emu_result_t result = emu_queue_record(queue, &ticket); result != EMU_SUCCESS) return result_of(result);
  }
  return wait_for_ticket(queue, ticket, timeout_ns);
}

void fill(ze_command_queue_dditable_t *table) noexcept {
  table->pfnCreate = queue_create;
  table->pfnDestroy = queue_destroy;
  table->pfnExecuteCommandLists = queue_execute;
  table->pfnSynchronize = queue_synchronize;
}

void fill(ze_fence_dditable_t *table) noexcept {
  table->pfnCreate = fence_create;
  table->pfnDestroy = fence_destroy;
  table->pfnHostSynchronize = fence_synchronize;
  table->pfnQueryStatus = fence_query;
  table->pfnReset = fence_reset;
}

}  // namespace sluice::emulated_driver

// For tests in this process, which find this by name: what command queues are given waits until they are let go (0), or
// until somebody waits for a fence. 0, or -1 when the emulated device refuses.
extern "C" __attribute__((visibility("default"))) int emulated_hold_queues(int holds) {
  using namespace sluice::emulated_driver;
  const std::scoped_lock lock(queues().mutex);
  queues().are_held = holds != 0;
  int result = 0;
  for (emu_queue_t *queue : queues().all) {
    if (hold(queue, queues().are_held) != EMU_SUCCESS) result = -1;
  }
  return result;
}
