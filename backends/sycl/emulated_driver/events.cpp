// SPDX-License-Identifier: BSD-3-Clause
// Events and their pools.
#include <chrono>
#include <memory>

#include "commands.h"
#include "waiting.h"

namespace sluice::emulated_driver {
namespace {

// ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP of newer headers.
constexpr ze_event_pool_flags_t kMappedTimestamps = 1U << 3U;

// ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC of newer headers.
constexpr auto kCounterBased = static_cast<ze_structure_type_t>(0x00020014);

// Whether a description is followed by a structure of that type.
bool has_extension(const void *next, ze_structure_type_t type) noexcept {
  for (const auto *at = static_cast<const ze_base_desc_t *>(next); at != nullptr;
       at = static_cast<const ze_base_desc_t *>(at->pNext)) {
    if (at->stype == type) return true;
  }
  return false;
}

std::atomic<int> g_n_pools{0};

Event &event_of(ze_event_handle_t handle) noexcept {
  return *object<Event>(handle);
}

ze_result_t pool_create(ze_context_handle_t /*context*/, const ze_event_pool_desc_t *desc, uint32_t /*n_devices*/,
                        ze_device_handle_t * /*devices*/, ze_event_pool_handle_t *handle) noexcept {
  return guarded([&] {
    if (desc->count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
    auto pool = std::make_unique<EventPool>();
    void *words = nullptr;
    const emu_result_t result = emu_malloc_host(desc->count * sizeof(uint64_t), 0, &words);
    if (result != EMU_SUCCESS) return result_of(result);
    pool->words = static_cast<uint64_t *>(words);
    pool->n_events = desc->count;
    pool->counts = has_extension(desc->pNext, kCounterBased);
    pool->has_timestamps = (desc->flags & (ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | kMappedTimestamps)) != 0;
    ++g_n_pools;
    *handle = handle_of<ze_event_pool_handle_t>(pool.release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t pool_destroy(ze_event_pool_handle_t handle) noexcept {
  if (object<EventPool>(handle)->n_made > 0) return ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
  const std::unique_ptr<EventPool> pool(object<EventPool>(handle));
  --g_n_pools;
  return result_of(emu_free(pool->words));
}

ze_result_t event_create(ze_event_pool_handle_t pool_handle, const ze_event_desc_t *desc,
                         ze_event_handle_t *handle) noexcept {
  return guarded([&] {
    auto *pool = object<EventPool>(pool_handle);
    if (desc->index >= pool->n_events) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    auto event = std::make_unique<Event>();
    event->pool = pool;
    event->word = pool->words + desc->index;
    if (pool->counts) event->due = 0;
    __atomic_store_n(event->word, 0, __ATOMIC_RELEASE);
    ++pool->n_made;
    *handle = handle_of<ze_event_handle_t>(event.release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t event_destroy(ze_event_handle_t handle) noexcept {
  const std::unique_ptr<Event> event(object<Event>(handle));
  --event->pool->n_made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_host_signal(ze_event_handle_t handle) noexcept {
  Event &event = event_of(handle);
  event.begin_ns = event.end_ns = now_ns();
  __atomic_store_n(event.word, event.due.load(), __ATOMIC_RELEASE);
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_host_synchronize(ze_event_handle_t handle, uint64_t timeout_ns) noexcept {
  const Event &event = event_of(handle);
  return wait_until(timeout_ns, [&] { return event.is_signalled(); });
}

ze_result_t event_query(ze_event_handle_t handle) noexcept {
  return event_of(handle).is_signalled() ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t event_host_reset(ze_event_handle_t handle) noexcept {
  __atomic_store_n(event_of(handle).word, 0, __ATOMIC_RELEASE);
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_timestamp(ze_event_handle_t handle, ze_kernel_timestamp_result_t *out) noexcept {
  const Event &event = event_of(handle);
  if (!event.is_signalled()) return ZE_RESULT_NOT_READY;
  *out = timestamps_of(event);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_kernel_timestamp_result_t timestamps_of(const Event &event) noexcept {
  ze_kernel_timestamp_result_t times{};
  times.global.kernelStart = times.context.kernelStart = event.begin_ns;
  times.global.kernelEnd = times.context.kernelEnd = event.end_ns;
  return times;
}

uint64_t now_ns() noexcept {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void fill(ze_event_pool_dditable_t *table) noexcept {
  table->pfnCreate = pool_create;
  table->pfnDestroy = pool_destroy;
}

void fill(ze_event_dditable_t *table) noexcept {
  table->pfnCreate = event_create;
  table->pfnDestroy = event_destroy;
  table->pfnHostSignal = event_host_signal;
  table->pfnHostSynchronize = event_host_synchronize;
  table->pfnQueryStatus = event_query;
  table->pfnHostReset = event_host_reset;
  table->pfnQueryKernelTimestamp = event_timestamp;
}

}  // namespace sluice::emulated_driver

// For tests in this process, which find this by name: how many event pools there are.
extern "C" __attribute__((visibility("default"))) int emulated_n_event_pools() {
  return sluice::emulated_driver::g_n_pools;
}
