// SPDX-License-Identifier: BSD-3-Clause
// Owns the queues and the copies on them.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "presence.h"
#include "queue.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

CUdeviceptr address_of(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

sluice_result_t enqueue_one(sluice_queue *queue, void *dst, const void *src, size_t size_bytes) {
  note_command(queue);
  return translate("cuMemcpyAsync",
                   g_driver.cuMemcpyAsync(address_of(dst), address_of(src), size_bytes, queue->stream));
}

#if CUDA_VERSION >= 13000
constexpr size_t kBatch = 64;

// Up to kBatch copies in one command; *n_taken of them are consumed, copies of nothing are left out. False when the
// driver cannot, and then nothing was enqueued.
bool enqueue_batch(sluice_queue *queue, const sluice_copy_t *copies, size_t n_copies, size_t *n_taken) {
  if (g_driver.cuMemcpyBatchAsync == nullptr) return false;
  std::array<CUdeviceptr, kBatch> dst;
  std::array<CUdeviceptr, kBatch> src;
  std::array<size_t, kBatch> size;
  size_t n = 0;
  *n_taken = 0;
  for (; *n_taken < n_copies && n < kBatch; ++*n_taken) {
    const sluice_copy_t &one = copies[*n_taken];
    if (one.size_bytes == 0) continue;
    dst[n] = address_of(one.dst);
    src[n] = address_of(one.src);
    size[n++] = one.size_bytes;
  }
  if (n == 0) return true;
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t first = 0;
  note_command(queue);
  return g_driver.cuMemcpyBatchAsync(dst.data(), src.data(), size.data(), n, &attributes, &first, 1, queue->stream) ==
         CUDA_SUCCESS;
}
#else
bool enqueue_batch(sluice_queue *, const sluice_copy_t *, size_t, size_t *) {
  return false;
}
#endif

// Small copies of a queue that has nothing else to do, begun and finished in one call.
bool copy_small(sluice_queue *queue, void *dst, const void *src, size_t size_bytes, sluice_result_t *result) {
  const bool is_idle = queue->last_ticket == queue->done_ticket && !queue->has_untracked;
  if (!is_idle || size_bytes == 0 || size_bytes > kSmallBytes) return false;
  const Reach from = reach_of(src, size_bytes, queue->device);
  if (from == Reach::kOther) return false;
  const Reach to = reach_of(dst, size_bytes, queue->device);
  if (from == Reach::kDevice && to == Reach::kCpu && queue->landings[0].memory != nullptr) {
    *result = small_copy_down(queue, dst, src, size_bytes);
    return true;
  }
  if (from != Reach::kCpu || to != Reach::kDevice) return false;
  *result = small_copy_up(queue, dst, src, size_bytes);
  return true;
}

// True when the program has reset the device since: its stream and its registrations are gone then, and the handles
// must not be shown to the driver again.
bool was_reset(const sluice_queue *queue) {
  CUdevice ordinal = 0;
  unsigned flags = 0;
  int is_active = 0;
  const CUresult native = g_driver.cuDeviceGet(&ordinal, queue->device);
  if (native != CUDA_SUCCESS) return true;  // the driver is shut down
  return queue->is_retained &&
         (g_driver.cuDevicePrimaryCtxGetState(ordinal, &flags, &is_active) != CUDA_SUCCESS || is_active == 0);
}

// Queues beyond this number share the streams of others: streams may share what the device runs them by, so that with
// many of them a copy could stand behind a stream of the program's that waits for that copy (docs/adr/0032).
constexpr size_t kMostStreams = 16;

struct OwnStream {
  CUstream stream;
  size_t n_queues;
};
std::mutex g_streams_mutex;
// By the number of their context, which no later context has.
std::map<unsigned long long, std::vector<OwnStream>> &own_streams() {
  static auto *made = new std::map<unsigned long long, std::vector<OwnStream>>();
  return *made;
}

// The queue's context is current.
sluice_result_t take_stream(sluice_queue *queue) {
  if (g_driver.cuCtxGetId != nullptr) {
    const sluice_result_t result = translate("cuCtxGetId", g_driver.cuCtxGetId(queue->context, &queue->context_number));
    if (result != SLUICE_SUCCESS) return result;
  }
  // The driver may hold up whoever makes a stream while another one waits (docs/adr/0032).
  const Quiet quiet;
  const std::scoped_lock lock(g_streams_mutex);
  std::vector<OwnStream> &streams = own_streams()[queue->context_number];
  const bool are_enough = streams.size() >= kMostStreams || (!quiet.is_kept() && !streams.empty());
  if (queue->context_number != 0 && are_enough) {
    OwnStream &least = *std::ranges::min_element(streams, {}, &OwnStream::n_queues);
    ++least.n_queues;
    queue->stream = least.stream;
    return SLUICE_SUCCESS;
  }
  streams.reserve(kMostStreams);
  const sluice_result_t result = stream_create(&queue->stream);
  if (result == SLUICE_SUCCESS) streams.push_back({queue->stream, 1});
  return result;
}

sluice_result_t give_stream_back(sluice_queue *queue) {
  const std::scoped_lock lock(g_streams_mutex);
  std::vector<OwnStream> &streams = own_streams()[queue->context_number];
  const auto found = std::ranges::find(streams, queue->stream, &OwnStream::stream);
  if (found != streams.end() && --found->n_queues != 0) return SLUICE_SUCCESS;
  if (found != streams.end()) streams.erase(found);
  return translate("cuStreamDestroy", g_driver.cuStreamDestroy(queue->stream));
}

sluice_result_t open_queue(sluice_queue *queue) {
  const ContextScope scope(queue->context);
  sluice_result_t result = scope.result();
  if (result != SLUICE_SUCCESS) return result;
  run_releases();
  result = take_stream(queue);
  if (result == SLUICE_SUCCESS) result = tickets_open(queue);
  if (result == SLUICE_SUCCESS) small_copies_open(queue);
  return result;
}

// What it holds is done. Its context is current.
sluice_result_t dismantle(sluice_queue *queue) {
  sluice_result_t result = graphs_close(&queue->graphs);
  if (queue->order != nullptr) {
    const sluice_result_t destroyed = translate("cuEventDestroy", g_driver.cuEventDestroy(queue->order));
    if (result == SLUICE_SUCCESS) result = destroyed;
  }
  if (queue->stream != nullptr) {
    const sluice_result_t given_back = give_stream_back(queue);
    if (result == SLUICE_SUCCESS) result = given_back;
  }
  for (const auto close : {small_copies_close, tickets_close}) {
    const sluice_result_t closed = close(queue);
    if (result == SLUICE_SUCCESS) result = closed;
  }
  return result;
}

// Later, when a stream of the program's waits.
sluice_result_t dismantle_or_defer(const std::shared_ptr<sluice_queue> &queue) {
  {
    const Quiet quiet;
    if (quiet.is_kept()) {
      const sluice_result_t result = dismantle(queue.get());
      release_context(queue->device, queue->is_retained);
      return result;
    }
  }
  release_later([queue] {
    const ContextScope scope(queue->context);
    if (scope.result() != SLUICE_SUCCESS || dismantle(queue.get()) != SLUICE_SUCCESS) log_line(1, error_text());
    release_context(queue->device, queue->is_retained);
  });
  return SLUICE_SUCCESS;
}

sluice_result_t close_queue(const std::shared_ptr<sluice_queue> &queue) {
  if (was_reset(queue.get())) {
    tickets_forget(queue.get());
    return SLUICE_SUCCESS;
  }
  const ContextScope scope(queue->context);
  if (scope.result() != SLUICE_SUCCESS) {
    release_context(queue->device, queue->is_retained);
    return scope.result();
  }
  sluice_result_t result = SLUICE_SUCCESS;
  if (queue->stream != nullptr) {
    result = translate("cuStreamSynchronize", g_driver.cuStreamSynchronize(queue->stream));
  }
  const sluice_result_t dismantled = dismantle_or_defer(queue);
  return result != SLUICE_SUCCESS ? result : dismantled;
}

}  // namespace

sluice_result_t stream_create(CUstream *stream) {
  return translate("cuStreamCreate", g_driver.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
}

sluice_result_t stream_wait_for(CUevent event, CUstream from, CUstream to) {
  const sluice_result_t result = translate("cuEventRecord", g_driver.cuEventRecord(event, from));
  if (result != SLUICE_SUCCESS) return result;
  return translate("cuStreamWaitEvent", g_driver.cuStreamWaitEvent(to, event, 0));
}

sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
  *queue = nullptr;
  std::unique_ptr<sluice_queue> made(new (std::nothrow) sluice_queue());
  if (made == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no host memory for a queue");
  made->device = device;
  presence_hold(device);
  sluice_result_t result = find_context(device, &made->context, &made->is_retained);
  if (result != SLUICE_SUCCESS) return result;
  result = open_queue(made.get());
  if (result != SLUICE_SUCCESS) {
    const std::string why = error_text();
    close_queue(std::shared_ptr<sluice_queue>(std::move(made)));
    return fail(result, why);
  }
  *queue = made.release();
  return SLUICE_SUCCESS;
}

sluice_result_t queue_destroy(sluice_queue_t *queue) {
  if (queue == nullptr) return SLUICE_SUCCESS;
  return close_queue(std::shared_ptr<sluice_queue>(queue));
}

sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  if (n_copies == 0) return SLUICE_SUCCESS;
  const ContextScope scope(queue->context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  if (const sluice_result_t marked = tickets_mark(queue); marked != SLUICE_SUCCESS) return marked;
  for (size_t at = 0; at < n_copies;) {
    size_t n_taken = 0;
    if (n_copies - at >= kBatchFrom && enqueue_batch(queue, copies + at, n_copies - at, &n_taken)) {
      at += n_taken;
      continue;
    }
    // One by one, which also finds out which copy the driver refuses, and why.
    const size_t end = n_taken == 0 ? n_copies : at + n_taken;
    for (; at < end; ++at) {
      if (copies[at].size_bytes == 0) continue;
      const sluice_result_t result = enqueue_one(queue, copies[at].dst, copies[at].src, copies[at].size_bytes);
      if (result != SLUICE_SUCCESS) return result;
    }
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
  const ContextScope scope(queue->context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const sluice_result_t result = ticket_enqueue_unmarked(queue);
  *ticket = queue->last_ticket;
  return result;
}

sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t ticket) {
  return ticket_test(queue, ticket);
}

sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket) {
  return ticket_wait(queue, ticket);
}

sluice_result_t enqueue_wait_for_queue(sluice_queue_t *queue, sluice_queue_t *other) {
  for (const sluice_queue *one : {queue, other}) {
    if (one->failure != SLUICE_SUCCESS) return fail(one->failure, one->failure_text);
  }
  if (g_driver.cuStreamWaitEvent == nullptr) return fail(SLUICE_ERROR_UNSUPPORTED, "no cuStreamWaitEvent");
  const ContextScope scope(queue->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = tickets_mark(queue);
  if (result == SLUICE_SUCCESS && other->order == nullptr) {
    result = translate("cuEventCreate", g_driver.cuEventCreate(&other->order, CU_EVENT_DISABLE_TIMING));
  }
  if (result != SLUICE_SUCCESS) return result;
  note_command(queue);
  return stream_wait_for(other->order, other->stream, queue->stream);
}

sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  {
    const ContextScope scope(queue->context);
    sluice_result_t result = scope.result();
    if (result == SLUICE_SUCCESS && copy_small(queue, dst, src, size_bytes, &result)) return result;
    if (result == SLUICE_SUCCESS) result = tickets_mark(queue);
    if (result == SLUICE_SUCCESS && size_bytes != 0) result = enqueue_one(queue, dst, src, size_bytes);
    if (result == SLUICE_SUCCESS) result = ticket_enqueue(queue);
    if (result != SLUICE_SUCCESS) return result;
  }
  return ticket_wait(queue, queue->last_ticket);
}

}  // namespace sluice::backends::cuda
