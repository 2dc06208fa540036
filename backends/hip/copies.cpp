// SPDX-License-Identifier: BSD-3-Clause
// Owns the queues, the copies on them and their tickets. The runtime finds the way of a copy by its two addresses.
#include <memory>
#include <new>

#include "queue.h"
#include "waits.h"

namespace sluice::backends::hip {

namespace {

// Keeps a native error as the queue's own: what follows on a stream after one is not to be trusted.
sluice_result_t keep_failure(sluice_queue *queue, const char *call, hipError_t native) {
  const sluice_result_t result = translate(call, native);
  if (result == SLUICE_SUCCESS || queue->failure != SLUICE_SUCCESS) return result;
  queue->failure = result;
  queue->failure_text = native_text(g_runtime, call, native);
  return result;
}

// The data of what an event marks is there for the CPU and other devices.
constexpr unsigned kEventFlags = hipEventDisableTiming | hipEventReleaseToSystem;

sluice_result_t take_event(sluice_queue *queue, hipEvent_t *event) {
  if (!queue->spare_events.empty()) {
    *event = queue->spare_events.back();
    queue->spare_events.pop_back();
    return SLUICE_SUCCESS;
  }
  return translate("hipEventCreateWithFlags", g_runtime.hipEventCreateWithFlags(event, kEventFlags));
}

// Everything up to the front mark is done.
void retire_front(sluice_queue *queue) {
  queue->spare_events.push_back(queue->marks.front().event);
  queue->marks.pop_front();
}

bool is_done(const sluice_queue &queue, uint64_t ticket) {
  return queue.marks.empty() || queue.marks.front().ticket > ticket;
}

sluice_result_t check_ticket(const sluice_queue &queue, uint64_t ticket) {
  if (ticket >= 1 && ticket <= queue.last_ticket) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ticket " + std::to_string(ticket) + " was not given out by this queue");
}

// In the queue's device scope.
sluice_result_t destroy_parts(sluice_queue *queue) {
  sluice_result_t first = SLUICE_SUCCESS;
  const auto keep = [&first](sluice_result_t result) {
    if (first == SLUICE_SUCCESS) first = result;
  };
  if (queue->stream != nullptr) {
    keep(translate("hipStreamSynchronize", g_runtime.hipStreamSynchronize(queue->stream)));
    keep(translate("hipStreamDestroy", g_runtime.hipStreamDestroy(queue->stream)));
  }
  while (!queue->marks.empty()) retire_front(queue);
  if (queue->order != nullptr) queue->spare_events.push_back(queue->order);
  for (const hipEvent_t event : queue->spare_events)
    keep(translate("hipEventDestroy", g_runtime.hipEventDestroy(event)));
  return first;
}

sluice_result_t enqueue_one(sluice_queue *queue, const sluice_copy_t &copy) {
  if (copy.size_bytes == 0) return SLUICE_SUCCESS;
  return keep_failure(queue, "hipMemcpyAsync",
                      g_runtime.hipMemcpyAsync(copy.dst, copy.src, copy.size_bytes, hipMemcpyDefault, queue->stream));
}

}  // namespace

sluice_result_t failure_of(const sluice_queue &queue) {
  return queue.failure == SLUICE_SUCCESS ? SLUICE_SUCCESS : fail(queue.failure, queue.failure_text);
}

sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
  *queue = nullptr;
  sluice_result_t result = check_device(device);
  if (result != SLUICE_SUCCESS) return result;
  run_releases();
  std::unique_ptr<sluice_queue> made(new (std::nothrow) sluice_queue);
  if (made == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no memory for a queue");
  made->device = device;
  const DeviceScope scope(device);
  result = scope.result();
  if (result != SLUICE_SUCCESS) return result;
  // A stream that waits for no other, the default one included.
  result =
      translate("hipStreamCreateWithFlags", g_runtime.hipStreamCreateWithFlags(&made->stream, hipStreamNonBlocking));
  if (result == SLUICE_SUCCESS) *queue = made.release();
  return result;
}

sluice_result_t queue_destroy(sluice_queue_t *queue) {
  if (queue == nullptr) return SLUICE_SUCCESS;
  const std::unique_ptr<sluice_queue> owner(queue);
  const DeviceScope scope(queue->device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const sluice_result_t failure = failure_of(*queue);
  const sluice_result_t result = destroy_parts(queue);
  return failure == SLUICE_SUCCESS ? result : failure_of(*queue);
}

sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  sluice_result_t result = failure_of(*queue);
  if (result != SLUICE_SUCCESS || n_copies == 0) return result;
  const DeviceScope scope(queue->device);
  result = scope.result();
  for (size_t i = 0; i < n_copies && result == SLUICE_SUCCESS; ++i) result = enqueue_one(queue, copies[i]);
  return result;
}

sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
  sluice_result_t result = failure_of(*queue);
  if (result != SLUICE_SUCCESS) return result;
  const DeviceScope scope(queue->device);
  result = scope.result();
  hipEvent_t event = nullptr;
  if (result == SLUICE_SUCCESS) result = take_event(queue, &event);
  if (result != SLUICE_SUCCESS) return result;
  result = keep_failure(queue, "hipEventRecord", g_runtime.hipEventRecord(event, queue->stream));
  if (result != SLUICE_SUCCESS) {
    queue->spare_events.push_back(event);
    return result;
  }
  *ticket = ++queue->last_ticket;
  queue->marks.push_back({*ticket, event});
  return SLUICE_SUCCESS;
}

namespace {

// Retires marks in their order up to `ticket`, each once `look` says that its event has been passed. What else `look`
// says, an error or SLUICE_NOT_READY, ends that.
template <typename Look>
sluice_result_t retire_to(sluice_queue_t *queue, uint64_t ticket, Look look) {
  sluice_result_t result = failure_of(*queue);
  if (result == SLUICE_SUCCESS) result = check_ticket(*queue, ticket);
  if (result != SLUICE_SUCCESS || is_done(*queue, ticket)) return result;
  const DeviceScope scope(queue->device);
  result = scope.result();
  while (result == SLUICE_SUCCESS && !is_done(*queue, ticket)) {
    result = look(queue->marks.front().event);
    if (result == SLUICE_SUCCESS) retire_front(queue);
  }
  return result;
}

}  // namespace

sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t ticket) {
  return retire_to(queue, ticket, [queue](hipEvent_t event) {
    const hipError_t native = g_runtime.hipEventQuery(event);
    return native == hipErrorNotReady ? SLUICE_NOT_READY : keep_failure(queue, "hipEventQuery", native);
  });
}

sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket) {
  return retire_to(queue, ticket, [queue](hipEvent_t event) {
    return keep_failure(queue, "hipEventSynchronize", g_runtime.hipEventSynchronize(event));
  });
}

// The event may be recorded again at once: who waits for it waits for what it stood for then.
sluice_result_t enqueue_wait_for_queue(sluice_queue_t *queue, sluice_queue_t *other) {
  if (g_runtime.hipStreamWaitEvent == nullptr) return fail(SLUICE_ERROR_UNSUPPORTED, "no hipStreamWaitEvent");
  sluice_result_t result = failure_of(*queue);
  if (result == SLUICE_SUCCESS) result = failure_of(*other);
  if (result != SLUICE_SUCCESS) return result;
  const DeviceScope scope(queue->device);
  result = scope.result();
  if (result == SLUICE_SUCCESS && other->order == nullptr) result = take_event(other, &other->order);
  if (result != SLUICE_SUCCESS) return result;
  result = keep_failure(other, "hipEventRecord", g_runtime.hipEventRecord(other->order, other->stream));
  if (result != SLUICE_SUCCESS) return result;
  return keep_failure(queue, "hipStreamWaitEvent", g_runtime.hipStreamWaitEvent(queue->stream, other->order, 0));
}

// The wait is the stream's own: what was enqueued before is done, too.
sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  sluice_result_t result = failure_of(*queue);
  if (result != SLUICE_SUCCESS) return result;
  const DeviceScope scope(queue->device);
  result = scope.result();
  if (result == SLUICE_SUCCESS) result = enqueue_one(queue, {dst, src, size_bytes});
  if (result != SLUICE_SUCCESS) return result;
  return keep_failure(queue, "hipStreamSynchronize", g_runtime.hipStreamSynchronize(queue->stream));
}

}  // namespace sluice::backends::hip
