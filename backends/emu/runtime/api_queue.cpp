// SPDX-License-Identifier: BSD-3-Clause
// The C functions about queues and tickets.
#include <memory>
#include <utility>

#include "runtime/api.h"

using emurt::fail;
using emurt::FaultPlan;
using emurt::FaultPoint;
using emurt::in_queue;
using emurt::in_runtime;
using emurt::Queue;
using emurt::Runtime;

namespace {

emu_result_t record(Queue &queue, uint64_t *ticket) {
  Runtime *runtime = nullptr;
  const emu_result_t result = Runtime::enter(&runtime);
  if (result != EMU_SUCCESS) return result;
  uint64_t event = 0;
  if (runtime->faults().strikes(FaultPoint::kTicket, &event)) {
    return fail(EMU_ERROR_QUEUE_FAILED, "fault injected into {} {}", FaultPlan::name(FaultPoint::kTicket), event);
  }
  return queue.record(ticket);
}

}  // namespace

extern "C" {

emu_result_t emu_queue_create(emu_queue_t **queue) {
  return in_runtime([&](Runtime &runtime) {
    if (queue == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_queue_create: null pointer");
    int32_t device = 0;
    emu_result_t result = runtime.current_device(&device);
    if (result != EMU_SUCCESS) return result;
    uint64_t event = 0;
    if (runtime.faults().strikes(FaultPoint::kQueueCreate, &event)) {
      return fail(EMU_ERROR_QUEUE_FAILED, "fault injected into {} {}", FaultPlan::name(FaultPoint::kQueueCreate),
                  event);
    }
    runtime.is_active(device).store(true, std::memory_order_relaxed);
    Queue *made = nullptr;
    result = runtime.create_queue(device, &made);
    if (result == EMU_SUCCESS) *queue = reinterpret_cast<emu_queue_t *>(made);
    return result;
  });
}

emu_result_t emu_queue_destroy(emu_queue_t *queue) {
  return in_runtime([&](Runtime &runtime) { return runtime.destroy_queue(reinterpret_cast<Queue *>(queue)); });
}

emu_result_t emu_memcpy_async(emu_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  const emu_copy_t copy{dst, src, size_bytes};
  return emu_memcpy_batch_async(queue, &copy, 1);
}

emu_result_t emu_memcpy_batch_async(emu_queue_t *queue, const emu_copy_t *copies, size_t n_copies) {
  return in_queue(queue, [&](Queue &q) { return q.enqueue(copies, n_copies); });
}

emu_result_t emu_launch_async(emu_queue_t *queue, emu_kernel_t kernel, const void *arguments, size_t arguments_bytes,
                              const emu_range_t *ranges, size_t n_written, size_t n_ranges) {
  return in_queue(queue, [&](Queue &q) {
    if (kernel == nullptr || (arguments == nullptr && arguments_bytes > 0)) {
      return fail(EMU_ERROR_INVALID_VALUE, "emu_launch_async: null pointer");
    }
    return q.launch(kernel, arguments, arguments_bytes, {ranges, n_ranges}, n_written);
  });
}

emu_result_t emu_queue_write64(emu_queue_t *queue, uint64_t *word, uint64_t value) {
  return in_queue(queue, [&](Queue &q) { return q.write_word(word, value); });
}

emu_result_t emu_queue_wait64(emu_queue_t *queue, const uint64_t *word, uint64_t least) {
  return in_queue(queue, [&](Queue &q) { return q.await_word(word, least); });
}

emu_result_t emu_queue_check_word(emu_queue_t *queue, const uint64_t *word) {
  return in_queue(queue, [&](Queue &q) { return q.check_word(word); });
}

emu_result_t emu_host_function_async(emu_queue_t *queue, emu_host_function_t function, const void *arguments,
                                     size_t arguments_bytes) {
  return in_queue(queue, [&](Queue &q) {
    if (function == nullptr || (arguments == nullptr && arguments_bytes > 0)) {
      return fail(EMU_ERROR_INVALID_VALUE, "emu_host_function_async: null pointer");
    }
    return q.run_on_host(function, arguments, arguments_bytes);
  });
}

emu_result_t emu_queue_begin_capture(emu_queue_t *queue) {
  return in_queue(queue, [](Queue &q) { return q.begin_capture(); });
}

emu_result_t emu_queue_end_capture(emu_queue_t *queue, emu_graph_t **graph) {
  return in_queue(queue, [&](Queue &q) {
    if (graph == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_queue_end_capture: null pointer");
    std::unique_ptr<Queue::Graph> made;
    const emu_result_t result = q.end_capture(&made);
    if (result == EMU_SUCCESS) *graph = reinterpret_cast<emu_graph_t *>(made.release());
    return result;
  });
}

emu_result_t emu_queue_capture(emu_queue_t *queue, uint64_t *id) {
  return in_queue(queue, [&](Queue &q) {
    if (id == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_queue_capture: null pointer");
    *id = q.capture();
    return EMU_SUCCESS;
  });
}

emu_result_t emu_graph_launch(emu_graph_t *graph, emu_queue_t *queue) {
  return in_queue(queue, [&](Queue &q) {
    if (graph == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "the graph is null");
    return q.launch(*reinterpret_cast<const Queue::Graph *>(graph));
  });
}

emu_result_t emu_graph_destroy(emu_graph_t *graph) {
  delete reinterpret_cast<Queue::Graph *>(graph);
  return EMU_SUCCESS;
}

emu_result_t emu_kernel_pause(void) {
  return Queue::pause_kernel();
}

emu_result_t emu_queue_take(emu_queue_t *queue, void *dst, emu_range_t from, size_t unit_bytes, size_t most_bytes,
                            const uint64_t *word) {
  return in_queue(queue, [&](Queue &q) { return q.take(dst, from, unit_bytes, most_bytes, word); });
}

emu_result_t emu_queue_wait_queue(emu_queue_t *queue, emu_queue_t *other) {
  return in_runtime([&](Runtime &runtime) -> emu_result_t {
    std::shared_ptr<Queue> waiting;
    std::shared_ptr<Queue> awaited;
    emu_result_t result = runtime.share_queue(reinterpret_cast<const Queue *>(queue), &waiting);
    if (result == EMU_SUCCESS) result = runtime.share_queue(reinterpret_cast<const Queue *>(other), &awaited);
    return result == EMU_SUCCESS ? waiting->await_queue(std::move(awaited)) : result;
  });
}

emu_result_t emu_queue_device(const emu_queue_t *queue, int32_t *device) {
  return in_runtime([&](Runtime &runtime) -> emu_result_t {
    if (device == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "emu_queue_device: null pointer");
    return runtime.find_queue(reinterpret_cast<const Queue *>(queue), device);
  });
}

emu_result_t emu_queue_memcpy(emu_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  return in_queue(queue, [&](Queue &q) { return q.copy(dst, src, size_bytes); });
}

emu_result_t emu_queue_record(emu_queue_t *queue, uint64_t *ticket) {
  return in_queue(queue, [&](Queue &q) {
    return ticket == nullptr ? fail(EMU_ERROR_INVALID_VALUE, "emu_queue_record: null pointer") : record(q, ticket);
  });
}

emu_result_t emu_ticket_query(emu_queue_t *queue, uint64_t ticket) {
  return in_queue(queue, [&](Queue &q) { return q.query(ticket); });
}

emu_result_t emu_ticket_wait(emu_queue_t *queue, uint64_t ticket) {
  return in_queue(queue, [&](Queue &q) { return q.wait(ticket); });
}

emu_result_t emu_queue_synchronize(emu_queue_t *queue) {
  return in_queue(queue, [&](Queue &q) {
    uint64_t ticket = 0;
    const emu_result_t result = record(q, &ticket);
    return result == EMU_SUCCESS ? q.wait(ticket) : result;
  });
}

emu_result_t emu_queue_hold(emu_queue_t *queue) {
  return in_queue(queue, [](Queue &q) {
    q.hold();
    return EMU_SUCCESS;
  });
}

emu_result_t emu_queue_release(emu_queue_t *queue) {
  return in_queue(queue, [](Queue &q) {
    q.release();
    return EMU_SUCCESS;
  });
}

}  // extern "C"
