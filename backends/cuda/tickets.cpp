// SPDX-License-Identifier: BSD-3-Clause
// Owns how the end of a queue's work is seen: by a host word that the stream writes and the CPU reads, or by events
// where the driver writes no words. The word is written only where something follows, or where the end is waited for:
// otherwise an empty stream says as much, 3 % of a short pull sooner (docs/measurements/2026-11-22-pull-anatomy). A
// kernel that is the last command tells of its end by itself, in a word of its own (docs/adr/0054).
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "queue.h"

namespace sluice::backends::cuda {

namespace {

// A dead context never writes the word, so the stream itself is asked once in so many looks at it (about 40 us).
constexpr uint32_t kPollsBetweenQueries = 1024;

// The ticket's, and those of kernels.
constexpr size_t kWords = 1 + kMostGraphs;

sluice_result_t fail_queue(sluice_queue *queue, const char *call, CUresult native) {
  queue->failure = translate(call, native);
  queue->failure_text = native_text(g_driver, call, native);
  return queue->failure;
}

sluice_result_t finish(sluice_queue *queue, uint64_t ticket) {
  queue->done_ticket = ticket;
  queue->n_polls = 0;
  return SLUICE_SUCCESS;
}

uint64_t read_word(uint64_t *word) {
  return std::atomic_ref<uint64_t>(*word).load(std::memory_order_acquire);
}

// What the stream says of everything enqueued so far.
sluice_result_t query_stream(sluice_queue *queue) {
  const ContextScope scope(queue->context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const CUresult native = g_driver.cuStreamQuery(queue->stream);
  if (native == CUDA_ERROR_NOT_READY) return SLUICE_NOT_READY;
  return native == CUDA_SUCCESS ? SLUICE_SUCCESS : fail_queue(queue, "cuStreamQuery", native);
}

// Whether a word that a command of the stream writes has come to `least`; `unwritten` says what else has happened.
sluice_result_t look_at(sluice_queue *queue, uint64_t *word, uint64_t least, const char *unwritten) {
  if (read_word(word) >= least) return SLUICE_SUCCESS;
  if (++queue->n_polls % kPollsBetweenQueries != 0) return SLUICE_NOT_READY;
  const sluice_result_t result = query_stream(queue);
  if (result != SLUICE_SUCCESS) return result;
  // The stream is empty, so the word has been written since it was read above.
  return read_word(word) >= least ? SLUICE_SUCCESS : fail_queue(queue, unwritten, CUDA_ERROR_UNKNOWN);
}

sluice_result_t test_word(sluice_queue *queue, uint64_t ticket) {
  const sluice_result_t result =
      look_at(queue, queue->word, ticket, "cuStreamWriteValue64 was executed and its value never came");
  return result == SLUICE_SUCCESS ? finish(queue, read_word(queue->word)) : result;
}

// The kernel that is the last command has a word of its own.
sluice_result_t test_end(sluice_queue *queue) {
  const sluice_result_t result =
      look_at(queue, queue->end.word, queue->end.value, "a kernel was executed and its end never told");
  return result == SLUICE_SUCCESS ? finish(queue, queue->last_ticket) : result;
}

sluice_result_t test_event(sluice_queue *queue, uint64_t ticket) {
  const ContextScope scope(queue->context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const CUresult native = g_driver.cuEventQuery(queue->events[ticket % kEvents]);
  if (native == CUDA_ERROR_NOT_READY) return SLUICE_NOT_READY;
  return native == CUDA_SUCCESS ? finish(queue, ticket) : fail_queue(queue, "cuEventQuery", native);
}

sluice_result_t test_stream(sluice_queue *queue) {
  const sluice_result_t result = query_stream(queue);
  return result == SLUICE_SUCCESS ? finish(queue, queue->last_ticket) : result;
}

// Of a ticket for which nothing was enqueued.
sluice_result_t test_unmarked(sluice_queue *queue) {
  return queue->end.word != nullptr ? test_end(queue) : test_stream(queue);
}

bool is_unmarked(const sluice_queue *queue, uint64_t ticket) {
  return queue->mode == CopyMode::kFlag && ticket > queue->marked_ticket;
}

// `test` looks at a word, and answers as ticket_test does.
template <typename Test>
sluice_result_t look_until(sluice_queue *queue, Test test) {
  sluice_result_t result = SLUICE_NOT_READY;
  while ((result = test()) == SLUICE_NOT_READY) {
    __builtin_ia32_pause();
    // With more threads than cores the one that would finish the work may be waiting for this core.
    if (queue->n_polls % kPollsBetweenQueries == 0) sched_yield();
  }
  return result;
}

sluice_result_t wait_natively(sluice_queue *queue, uint64_t ticket) {
  const ContextScope scope(queue->context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const CUresult native = g_driver.cuEventSynchronize(queue->events[ticket % kEvents]);
  return native == CUDA_SUCCESS ? finish(queue, ticket) : fail_queue(queue, "cuEventSynchronize", native);
}

// Waits first for the ticket that the event marked before.
sluice_result_t record_event(sluice_queue *queue, uint64_t ticket) {
  const uint64_t same_event = ticket > kEvents ? ticket - kEvents : 0;
  if (same_event > queue->done_ticket) {
    const sluice_result_t result = wait_natively(queue, same_event);
    if (result != SLUICE_SUCCESS) return result;
  }
  const CUresult native = g_driver.cuEventRecord(queue->events[ticket % kEvents], queue->stream);
  return native == CUDA_SUCCESS ? SLUICE_SUCCESS : fail_queue(queue, "cuEventRecord", native);
}

// Where the blocks of a queue's kernels tell each other; a queue has one as long as it lives.
std::mutex g_places_mutex;
std::array<bool, kernels::kMostEnds> g_is_place_taken{};

// Behind the queue's own word are those that its kernels count up when they end. Where there is no place left, the
// stream is asked.
void open_end_words(sluice_queue *queue) {
  const std::scoped_lock lock(g_places_mutex);
  const auto place = std::ranges::find(g_is_place_taken, false);
  if (place == g_is_place_taken.end()) return;
  *place = true;
  queue->end_words = {queue->word + 1, queue->word_address + sizeof(uint64_t),
                      static_cast<uint32_t>(place - g_is_place_taken.begin())};
}

sluice_result_t open_word(sluice_queue *queue) {
  void *memory = nullptr;
  sluice_result_t result = pages_acquire(kWords * sizeof(uint64_t), 0, &memory);
  if (result != SLUICE_SUCCESS) return result;
  queue->word = static_cast<uint64_t *>(memory);
  std::fill_n(queue->word, kWords, 0);
  result = translate("cuMemHostGetDevicePointer", g_driver.cuMemHostGetDevicePointer(&queue->word_address, memory, 0));
  if (result == SLUICE_SUCCESS) open_end_words(queue);
  return result;
}

bool has_word_writes(const sluice_queue *queue) {
  if (g_driver.cuStreamWriteValue64 == nullptr) return false;
  CUdevice ordinal = 0;
  int can = 0;
  return g_driver.cuDeviceGet(&ordinal, queue->device) == CUDA_SUCCESS &&
         g_driver.cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, ordinal) ==
             CUDA_SUCCESS &&
         can != 0;
}

}  // namespace

sluice_result_t tickets_open(sluice_queue *queue) {
  queue->mode = has_word_writes(queue) ? CopyMode::kFlag : CopyMode::kEvent;
  if (queue->mode == CopyMode::kFlag) return open_word(queue);
  for (CUevent &event : queue->events) {
    const sluice_result_t result = translate("cuEventCreate", g_driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    if (result != SLUICE_SUCCESS) return result;
  }
  return SLUICE_SUCCESS;
}

sluice_result_t tickets_close(sluice_queue *queue) {
  sluice_result_t result = SLUICE_SUCCESS;
  for (CUevent event : queue->events) {
    if (event == nullptr) continue;
    const sluice_result_t one = translate("cuEventDestroy", g_driver.cuEventDestroy(event));
    if (result == SLUICE_SUCCESS) result = one;
  }
  if (queue->word != nullptr) {
    const sluice_result_t one = pages_release(queue->word);
    if (result == SLUICE_SUCCESS) result = one;
  }
  tickets_forget(queue);
  return result;
}

void tickets_forget(sluice_queue *queue) {
  if (queue->end_words.words == nullptr) return;
  const std::scoped_lock lock(g_places_mutex);
  g_is_place_taken[std::exchange(queue->end_words, {}).place] = false;
}

sluice_result_t ticket_enqueue(sluice_queue *queue) {
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  const uint64_t ticket = queue->last_ticket + 1;
  if (queue->mode == CopyMode::kEvent) {
    const sluice_result_t result = record_event(queue, ticket);
    if (result != SLUICE_SUCCESS) return result;
  }
  queue->last_ticket = ticket;
  queue->has_untracked = false;
  return queue->mode == CopyMode::kFlag ? tickets_mark(queue) : SLUICE_SUCCESS;
}

sluice_result_t ticket_enqueue_unmarked(sluice_queue *queue) {
  if (queue->mode != CopyMode::kFlag) return ticket_enqueue(queue);
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  ++queue->last_ticket;
  queue->has_untracked = false;
  return SLUICE_SUCCESS;
}

sluice_result_t tickets_mark(sluice_queue *queue) {
  if (!is_unmarked(queue, queue->last_ticket) || queue->done_ticket == queue->last_ticket) return SLUICE_SUCCESS;
  const CUresult native = g_driver.cuStreamWriteValue64(queue->stream, queue->word_address, queue->last_ticket,
                                                        CU_STREAM_WRITE_VALUE_DEFAULT);
  if (native != CUDA_SUCCESS) return fail_queue(queue, "cuStreamWriteValue64", native);
  queue->marked_ticket = queue->last_ticket;
  return SLUICE_SUCCESS;
}

sluice_result_t ticket_test(sluice_queue *queue, uint64_t ticket) {
  if (ticket <= queue->done_ticket) return SLUICE_SUCCESS;
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  if (is_unmarked(queue, ticket)) return test_unmarked(queue);
  return queue->mode == CopyMode::kFlag ? test_word(queue, ticket) : test_event(queue, ticket);
}

sluice_result_t ticket_wait(sluice_queue *queue, uint64_t ticket) {
  if (ticket <= queue->done_ticket) return SLUICE_SUCCESS;
  if (queue->failure != SLUICE_SUCCESS) return fail(queue->failure, queue->failure_text);
  if (is_unmarked(queue, ticket)) {
    if (queue->end.word != nullptr) return look_until(queue, [&] { return test_end(queue); });
    const ContextScope scope(queue->context);
    sluice_result_t result = scope.result();
    if (result == SLUICE_SUCCESS) result = tickets_mark(queue);
    if (result != SLUICE_SUCCESS) return result;
  }
  if (queue->mode != CopyMode::kFlag) return wait_natively(queue, ticket);
  return look_until(queue, [&] { return test_word(queue, ticket); });
}

}  // namespace sluice::backends::cuda
