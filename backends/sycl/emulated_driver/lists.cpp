// SPDX-License-Identifier: BSD-3-Clause
// Lists of commands: copies, fills, barriers, events. Kernels are in kernels.cpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "commands.h"

namespace sluice::emulated_driver {
namespace {

CommandList &list_of(ze_command_list_handle_t handle) noexcept {
  return *object<CommandList>(handle);
}

// ---- what surrounds a command ----

emu_result_t write_stamp(const void *arguments) {
  argument_of<std::atomic<uint64_t> *>(arguments)->store(now_ns());
  return EMU_SUCCESS;
}

// The whole of a command, as it goes into a queue. Events are the program's, and live until they are signalled.
emu_result_t enqueue(emu_queue_t *queue, const std::vector<Event *> &waits, const Command &command, Event *signal) {
  emu_result_t result = EMU_SUCCESS;
  for (std::size_t i = 0; i < waits.size() && result == EMU_SUCCESS; ++i) {
    result = emu_queue_wait64(queue, waits[i]->word, waits[i]->due);
  }
  if (signal != nullptr && signal->pool->counts) ++signal->due;
  const bool is_timed = signal != nullptr && signal->pool->has_timestamps;
  if (result == EMU_SUCCESS && is_timed) result = enqueue_call(queue, write_stamp, &signal->begin_ns);
  if (result == EMU_SUCCESS && command) result = command(queue);
  if (result == EMU_SUCCESS && is_timed) result = enqueue_call(queue, write_stamp, &signal->end_ns);
  if (result == EMU_SUCCESS && signal != nullptr) result = emu_queue_write64(queue, signal->word, signal->due);
  return result;
}

// ---- the life of a list ----

ze_result_t list_create(ze_context_handle_t /*context*/, ze_device_handle_t device,
                        const ze_command_list_desc_t * /*desc*/, ze_command_list_handle_t *handle) noexcept {
  return guarded([&] {
    auto list = std::make_unique<CommandList>();
    list->device = device;
    *handle = handle_of<ze_command_list_handle_t>(list.release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t list_create_immediate(ze_context_handle_t /*context*/, ze_device_handle_t device,
                                  const ze_command_queue_desc_t *desc, ze_command_list_handle_t *handle) noexcept {
  return guarded([&] {
    auto list = std::make_unique<CommandList>();
    list->device = device;
    list->is_synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    if (const ze_result_t result = use_device(device); result != ZE_RESULT_SUCCESS) return result;
    if (const emu_result_t result = emu_queue_create(&list->queue); result != EMU_SUCCESS) return result_of(result);
    *handle = handle_of<ze_command_list_handle_t>(list.release());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t list_destroy(ze_command_list_handle_t handle) noexcept {
  const std::unique_ptr<CommandList> list(object<CommandList>(handle));
  return list->queue != nullptr ? result_of(emu_queue_destroy(list->queue)) : ZE_RESULT_SUCCESS;
}

ze_result_t list_close(ze_command_list_handle_t /*handle*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_reset(ze_command_list_handle_t handle) noexcept {
  CommandList &list = list_of(handle);
  const std::scoped_lock lock(list.mutex);
  list.commands.clear();
  return ZE_RESULT_SUCCESS;
}

// ---- commands ----

ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t n_waits,
                           ze_event_handle_t *waits) noexcept {
  return append(list, signal, n_waits, waits, {});  // queues are in order
}

ze_result_t append_ranges_barrier(ze_command_list_handle_t list, uint32_t /*n_ranges*/, const size_t * /*sizes*/,
                                  const void ** /*ranges*/, ze_event_handle_t signal, uint32_t n_waits,
                                  ze_event_handle_t *waits) noexcept {
  return append(list, signal, n_waits, waits, {});
}

ze_result_t append_copy(ze_command_list_handle_t list, void *dst, const void *src, size_t size_bytes,
                        ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits) noexcept {
  return append(list, signal, n_waits, waits,
                [dst, src, size_bytes](emu_queue_t *queue) { return emu_memcpy_async(queue, dst, src, size_bytes); });
}

ze_result_t append_copy_from_context(ze_command_list_handle_t list, void *dst, ze_context_handle_t /*src_context*/,
                                     const void *src, size_t size_bytes, ze_event_handle_t signal, uint32_t n_waits,
                                     ze_event_handle_t *waits) noexcept {
  return append_copy(list, dst, src, size_bytes, signal, n_waits, waits);
}

// Of up to three dimensions, a copy for each row.
ze_result_t append_copy_region(ze_command_list_handle_t list, void *dst, const ze_copy_region_t *dst_region,
                               uint32_t dst_pitch, uint32_t dst_slice_pitch, const void *src,
                               const ze_copy_region_t *src_region, uint32_t src_pitch, uint32_t src_slice_pitch,
                               ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits) noexcept {
  return guarded([&] {
    const auto at = [](uintptr_t base, const ze_copy_region_t &region, size_t pitch, size_t slice_pitch, uint32_t y,
                       uint32_t z) {
      return base + (region.originZ + z) * slice_pitch + (region.originY + y) * pitch + region.originX;
    };
    std::vector<emu_copy_t> rows;
    for (uint32_t z = 0; z < std::max(src_region->depth, 1U); ++z) {
      for (uint32_t y = 0; y < std::max(src_region->height, 1U); ++y) {
        rows.push_back({reinterpret_cast<void *>(
                            at(reinterpret_cast<uintptr_t>(dst), *dst_region, dst_pitch, dst_slice_pitch, y, z)),
                        reinterpret_cast<const void *>(
                            at(reinterpret_cast<uintptr_t>(src), *src_region, src_pitch, src_slice_pitch, y, z)),
                        src_region->width});
      }
    }
    return append(list, signal, n_waits, waits, [rows = std::move(rows)](emu_queue_t *queue) {
      return emu_memcpy_batch_async(queue, rows.data(), rows.size());
    });
  });
}

struct Fill {
  static constexpr std::size_t kLongestPattern = 128;
  std::size_t size_bytes;
  std::size_t pattern_bytes;
  std::array<std::byte, kLongestPattern> pattern;
};

void fill_memory(const void *arguments, void *const *memory) {
  const auto fill = argument_of<Fill>(arguments);
  auto *out = static_cast<std::byte *>(memory[0]);
  for (std::size_t at = 0; at < fill.size_bytes; at += fill.pattern_bytes) {
    std::memcpy(out + at, fill.pattern.data(), std::min(fill.pattern_bytes, fill.size_bytes - at));
  }
}

ze_result_t append_fill(ze_command_list_handle_t list, void *memory, const void *pattern, size_t pattern_bytes,
                        size_t size_bytes, ze_event_handle_t signal, uint32_t n_waits,
                        ze_event_handle_t *waits) noexcept {
  if (pattern_bytes == 0 || pattern_bytes > Fill::kLongestPattern) return ZE_RESULT_ERROR_INVALID_SIZE;
  Fill fill{size_bytes, pattern_bytes, {}};
  std::memcpy(fill.pattern.data(), pattern, pattern_bytes);
  return append(list, signal, n_waits, waits, [fill, memory](emu_queue_t *queue) {
    const emu_range_t range{memory, fill.size_bytes};
    if (fill.size_bytes == 0) return EMU_SUCCESS;
    return emu_launch_async(queue, fill_memory, &fill, sizeof fill, &range, 1, 1);
  });
}

ze_result_t append_prefetch(ze_command_list_handle_t /*list*/, const void * /*memory*/,
                            size_t /*size_bytes*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

ze_result_t append_advice(ze_command_list_handle_t /*list*/, ze_device_handle_t /*device*/, const void * /*memory*/,
                          size_t /*size_bytes*/, ze_memory_advice_t /*advice*/) noexcept {
  return ZE_RESULT_SUCCESS;
}

ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t event) noexcept {
  return append(list, event, 0, nullptr, {});
}

ze_result_t append_wait(ze_command_list_handle_t list, uint32_t n_events, ze_event_handle_t *events) noexcept {
  return append(list, nullptr, n_events, events, {});
}

ze_result_t append_reset(ze_command_list_handle_t list, ze_event_handle_t event) noexcept {
  uint64_t *const word = object<Event>(event)->word;
  return append(list, nullptr, 0, nullptr, [word](emu_queue_t *queue) { return emu_queue_write64(queue, word, 0); });
}

emu_result_t write_time(const void *arguments) {
  const uint64_t now = now_ns();
  return emu_memcpy(argument_of<uint64_t *>(arguments), &now, sizeof now);
}

ze_result_t append_time(ze_command_list_handle_t list, uint64_t *where, ze_event_handle_t signal, uint32_t n_waits,
                        ze_event_handle_t *waits) noexcept {
  return append(list, signal, n_waits, waits,
                [where](emu_queue_t *queue) { return enqueue_call(queue, write_time, where); });
}

struct TimestampQuery {
  const Event *event;
  std::byte *where;
};

emu_result_t write_timestamps(const void *arguments) {
  const auto query = argument_of<TimestampQuery>(arguments);
  const ze_kernel_timestamp_result_t times = timestamps_of(*query.event);
  return emu_memcpy(query.where, &times, sizeof times);
}

ze_result_t append_timestamp_query(ze_command_list_handle_t list, uint32_t n_events, ze_event_handle_t *events,
                                   void *where, const size_t *offsets, ze_event_handle_t signal, uint32_t n_waits,
                                   ze_event_handle_t *waits) noexcept {
  return guarded([&] {
    std::vector<TimestampQuery> queries;
    for (uint32_t i = 0; i < n_events; ++i) {
      const size_t offset = offsets != nullptr ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t);
      queries.push_back({object<Event>(events[i]), static_cast<std::byte *>(where) + offset});
    }
    return append(list, signal, n_waits, waits, [queries = std::move(queries)](emu_queue_t *queue) {
      emu_result_t result = EMU_SUCCESS;
      for (const TimestampQuery &query : queries) {
        if (result == EMU_SUCCESS) result = enqueue_call(queue, write_timestamps, query);
      }
      return result;
    });
  });
}

}  // namespace

emu_result_t enqueue_all(CommandList *list, emu_queue_t *queue) {
  const std::scoped_lock lock(list->mutex);
  emu_result_t result = EMU_SUCCESS;
  for (const Command &command : list->commands) {
    if (result == EMU_SUCCESS) result = command(queue);
  }
  return result;
}

ze_result_t append(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t n_waits,
                   ze_event_handle_t *waits, Command command) noexcept {
  return guarded([&] {
    CommandList &list = list_of(handle);
    std::vector<Event *> awaited;
    awaited.reserve(n_waits);
    for (uint32_t i = 0; i < n_waits; ++i) awaited.push_back(object<Event>(waits[i]));
    auto *signalled = object<Event>(signal);
    const std::scoped_lock lock(list.mutex);
    if (list.queue == nullptr) {
      list.commands.emplace_back([awaited = std::move(awaited), command = std::move(command), signalled](
                                     emu_queue_t *queue) { return enqueue(queue, awaited, command, signalled); });
      return ZE_RESULT_SUCCESS;
    }
    emu_result_t result = enqueue(list.queue, awaited, command, signalled);
    if (result == EMU_SUCCESS && list.is_synchronous) result = emu_queue_synchronize(list.queue);
    return result_of(result);
  });
}

void fill(ze_command_list_dditable_t *table) noexcept {
  table->pfnCreate = list_create;
  table->pfnCreateImmediate = list_create_immediate;
  table->pfnDestroy = list_destroy;
  table->pfnClose = list_close;
  table->pfnReset = list_reset;
  table->pfnAppendBarrier = append_barrier;
  table->pfnAppendMemoryRangesBarrier = append_ranges_barrier;
  table->pfnAppendMemoryCopy = append_copy;
  table->pfnAppendMemoryCopyFromContext = append_copy_from_context;
  table->pfnAppendMemoryCopyRegion = append_copy_region;
  table->pfnAppendMemoryFill = append_fill;
  table->pfnAppendMemoryPrefetch = append_prefetch;
  table->pfnAppendMemAdvise = append_advice;
  table->pfnAppendSignalEvent = append_signal;
  table->pfnAppendWaitOnEvents = append_wait;
  table->pfnAppendEventReset = append_reset;
  table->pfnAppendWriteGlobalTimestamp = append_time;
  table->pfnAppendQueryKernelTimestamps = append_timestamp_query;
  fill_kernel_commands(table);
}

}  // namespace sluice::emulated_driver
