// SPDX-License-Identifier: BSD-3-Clause
// Events and their pools, also those of several processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
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

// What is in a handle: first a descriptor, which whoever opens the handle has replaced by one of its own for that file.
struct PoolHandle {
  int32_t descriptor;
  uint32_t n_events;
  uint64_t magic;
};
static_assert(sizeof(PoolHandle) <= ZE_MAX_IPC_HANDLE_SIZE);
constexpr uint64_t kMagic = 0x5A45'4556;

std::size_t size_of(const EventPool &pool) noexcept {
  return pool.n_events * sizeof(uint64_t);
}

// Maps the words out of pool->descriptor.
ze_result_t map_words(EventPool *pool) noexcept {
  void *const words = mmap(nullptr, size_of(*pool), PROT_READ | PROT_WRITE, MAP_SHARED, pool->descriptor, 0);
  if (words == MAP_FAILED) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  pool->words = static_cast<uint64_t *>(words);
  const emu_result_t result = emu_host_register(words, size_of(*pool));
  if (result != EMU_SUCCESS) munmap(words, size_of(*pool));
  return result_of(result);
}

ze_result_t make_words(bool is_shared, EventPool *pool) noexcept {
  if (!is_shared) {
    void *words = nullptr;
    const emu_result_t result = emu_malloc_host(size_of(*pool), 0, &words);
    pool->words = static_cast<uint64_t *>(words);
    return result_of(result);
  }
  pool->descriptor = memfd_create("emulated events", MFD_CLOEXEC);
  if (pool->descriptor < 0 || ftruncate(pool->descriptor, static_cast<off_t>(size_of(*pool))) != 0) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  return map_words(pool);
}

ze_result_t give_words_back(const EventPool &pool) noexcept {
  if (pool.descriptor < 0) return result_of(emu_free(pool.words));
  const emu_result_t result = emu_host_unregister(pool.words);
  munmap(pool.words, size_of(pool));
  close(pool.descriptor);
  return result_of(result);
}

ze_result_t pool_create(ze_context_handle_t /*context*/, const ze_event_pool_desc_t *desc, uint32_t /*n_devices*/,
                        ze_device_handle_t * /*devices*/, ze_event_pool_handle_t *handle) noexcept {
  return guarded([&] {
    if (desc->count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
    auto pool = std::make_unique<EventPool>();
    pool->n_events = desc->count;
    const ze_result_t result = make_words((desc->flags & ZE_EVENT_POOL_FLAG_IPC) != 0, pool.get());
    if (result != ZE_RESULT_SUCCESS) {
      if (pool->descriptor >= 0) close(pool->descriptor);
      return result;
    }
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
  return give_words_back(*pool);
}

ze_result_t pool_get_handle(ze_event_pool_handle_t handle, ze_ipc_event_pool_handle_t *out) noexcept {
  const EventPool &pool = *object<EventPool>(handle);
  if (pool.descriptor < 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;  // not made for several processes
  const PoolHandle made{pool.descriptor, pool.n_events, kMagic};
  *out = {};
  std::memcpy(out->data, &made, sizeof made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t pool_open_handle(ze_context_handle_t /*context*/, ze_ipc_event_pool_handle_t given,
                             ze_event_pool_handle_t *handle) noexcept {
  return guarded([&] {
    PoolHandle told{};
    std::memcpy(&told, given.data, sizeof told);
    auto pool = std::make_unique<EventPool>();
    pool->n_events = told.n_events;
    pool->is_opened = true;
    struct stat file = {};
    const bool is_right = told.magic == kMagic && told.n_events > 0 && fstat(told.descriptor, &file) == 0 &&
                          file.st_size == static_cast<off_t>(size_of(*pool));
    if (!is_right) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    pool->descriptor = fcntl(told.descriptor, F_DUPFD_CLOEXEC, 0);
    if (pool->descriptor < 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (const ze_result_t result = map_words(pool.get()); result != ZE_RESULT_SUCCESS) {
      close(pool->descriptor);
      return result;
    }
    ++g_n_pools;
    *handle = handle_of<ze_event_pool_handle_t>(pool.release());
    return ZE_RESULT_SUCCESS;
  });
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
    if (!pool->is_opened) __atomic_store_n(event->word, 0, __ATOMIC_RELEASE);
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
  table->pfnGetIpcHandle = pool_get_handle;
  table->pfnOpenIpcHandle = pool_open_handle;
  table->pfnCloseIpcHandle = pool_destroy;
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
