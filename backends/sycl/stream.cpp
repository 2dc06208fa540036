// SPDX-License-Identifier: BSD-3-Clause
// The program's streams: a sycl::queue * that was registered (register_context). What is done is done on a copy of that
// queue, which stands for the same one.
#include "stream.h"

#include <string>

#include "queue.h"
#include "registered_memory.h"
#include "registered_queues.h"
#include "runtime.h"
#include "waits.h"

namespace sluice::backends::sycl {

namespace {

// What has not been run on such a runtime is not chosen by itself (docs/adr/0040).
Outcome open_way(const ::sycl::queue &queue, std::unique_ptr<StreamWay> *way) {
  const std::string_view knob = knob_text("SLUICE_SYCL_STREAMS");
  if (knob == "off") return {SLUICE_ERROR_UNSUPPORTED, "queues on streams are switched off (SLUICE_SYCL_STREAMS=off)"};
  if (knob == "driver") return open_driver_way(queue, way);
  if (knob == "events" || queue.get_backend() == ::sycl::backend::opencl) return open_event_way(queue, way);
  return {
      SLUICE_ERROR_UNSUPPORTED,
      "queues on streams of this runtime are for those who ask for them (docs/queue/guide.md): "
      "SLUICE_SYCL_STREAMS=driver on NVIDIA's driver; SLUICE_SYCL_STREAMS=events on Level Zero, where they have run "
      "on no device yet"};
}

Outcome check_queue(const ::sycl::queue &queue, int32_t *device) {
  if (!queue.is_in_order()) {
    return {SLUICE_ERROR_UNSUPPORTED,
            "the sycl::queue is out of order, so nothing comes before or behind a message; make it with "
            "sycl::property::queue::in_order()"};
  }
  const Runtime &runtime = Runtime::start();
  *device = runtime.index_of(queue.get_device());
  if (*device < 0) {
    return {SLUICE_ERROR_NO_DEVICE, "the queue's device is none that Sluice uses (SLUICE_SYCL_DEVICES, `sluice info`)"};
  }
  // Words are memory of the default context. On the CPU every context reaches it.
  if (queue.get_device().is_cpu() || queue.get_context() == runtime.default_context(*device).context) return {};
  return {SLUICE_ERROR_UNSUPPORTED,
          "the queue is of a context of the program's own, which does not reach Sluice's words; make it in the "
          "platform's default context"};
}

template <typename Enqueue>
sluice_result_t enqueue_on(const char *call, sluice_stream *stream, const uint64_t *word, const Enqueue &enqueue) {
  return guarded(call, [&] {
    Outcome outcome = check_stream(stream);
    if (outcome.is_success()) outcome = check_word(*stream, word);
    return to_result(outcome.is_success() ? enqueue(*stream->way) : outcome);
  });
}

}  // namespace

sluice_result_t to_result(const Outcome &outcome) {
  return outcome.is_success() ? SLUICE_SUCCESS : fail(outcome.result, outcome.text);
}

// Before anything is enqueued.
Outcome check_stream(const sluice_stream *stream) {
  if (stream == nullptr) return {SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null"};
  if (stream->queue.ext_oneapi_get_state() != ::sycl::ext::oneapi::experimental::queue_state::recording) return {};
  return {SLUICE_ERROR_UNSUPPORTED,
          "the queue is being recorded into a graph, which would trigger the same messages at each launch; end the "
          "recording first"};
}

Outcome check_word(const sluice_stream &stream, const uint64_t *word) {
  if (word != nullptr && reinterpret_cast<uintptr_t>(word) % sizeof(*word) == 0) {
    if (is_registered(stream.device, word, sizeof(*word))) return {};
    if (find_allocation(Runtime::start(), word).kind == ::sycl::usm::alloc::host) return {};
  }
  return {SLUICE_ERROR_INVALID_ARGUMENT, "a word must be aligned to 8 bytes, in memory of host_alloc or host_register"};
}

int32_t stream_query(const void *native) {
  if (native == nullptr || is_exiting()) return -1;
  return registered_queue(native).has_value() ? 1 : -1;
}

sluice_result_t stream_open(void *native, sluice_stream_t **stream, int32_t *device) {
  if (native == nullptr || stream == nullptr || device == nullptr)
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_open: null pointer");
  run_releases();
  return guarded("stream_open", [&] {
    const std::optional<::sycl::queue> queue = registered_queue(native);
    if (!queue.has_value()) {
      return fail(
          SLUICE_ERROR_INVALID_ARGUMENT,
          "at this address is no sycl::queue that was registered; call sluice_register_context(\"sycl\", &queue) "
          "first, and again when the object has moved");
    }
    Outcome outcome = check_queue(*queue, device);
    std::unique_ptr<StreamWay> way;
    if (outcome.is_success()) outcome = open_way(*queue, &way);
    if (!outcome.is_success()) return to_result(outcome);
    const sluice_result_t prepared = prepare_queues(*device);
    if (prepared == SLUICE_SUCCESS) *stream = new sluice_stream{*queue, *device, std::move(way)};
    return prepared;
  });
}

// While the process exits it is left to its end.
sluice_result_t stream_close(sluice_stream_t *stream) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_close: null pointer");
  if (is_exiting()) return SLUICE_SUCCESS;
  return guarded("stream_close", [&] {
    const std::unique_ptr<sluice_stream> closed(stream);
    return SLUICE_SUCCESS;
  });
}

sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value) {
  return enqueue_on("stream_write", stream, word, [&](StreamWay &way) { return way.write(word, value); });
}

sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least) {
  return enqueue_on("stream_wait", stream, word, [&](StreamWay &way) {
    note_wait(word, least);
    return way.wait(word, least);
  });
}

}  // namespace sluice::backends::sycl
