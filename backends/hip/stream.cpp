// SPDX-License-Identifier: BSD-3-Clause
// The program's streams: a hipStream_t. Triggers and waits are the runtime's stream memory operations, which it carries
// out by small kernels or by the device's command processor, or kernels of ours (stream_kernels.cpp).
#include "stream.h"

#include <memory>
#include <new>

#include "waits.h"

namespace sluice::backends::hip {

namespace {

bool has_functions() {
  return g_runtime.hipGetStreamDeviceId != nullptr && g_runtime.hipStreamIsCapturing != nullptr;
}

// SLUICE_ERROR_UNSUPPORTED where this device or its runtime does not have them.
sluice_result_t check_memory_operations(int32_t device) {
  if (g_runtime.hipStreamWriteValue64 == nullptr || g_runtime.hipStreamWaitValue64 == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "this HIP runtime has no stream memory operations; set SLUICE_HIP_STREAMS=kernels");
  }
  int can = 0;
  const sluice_result_t result = translate(
      "hipDeviceGetAttribute", g_runtime.hipDeviceGetAttribute(&can, hipDeviceAttributeCanUseStreamWaitValue, device));
  if (result != SLUICE_SUCCESS || can != 0) return result;
  return fail(SLUICE_ERROR_UNSUPPORTED, "this device has no stream memory operations; set SLUICE_HIP_STREAMS=kernels");
}

// By what the stream triggers and waits, and the kernels for it. Without a device to measure on auto is what the
// runtime says of itself.
sluice_result_t choose_operations(sluice_stream *stream) {
  if (g_choices.stream_operations != StreamOperations::kKernels) {
    const sluice_result_t result = check_memory_operations(stream->device);
    const bool is_last = g_choices.stream_operations == StreamOperations::kMemory || result != SLUICE_ERROR_UNSUPPORTED;
    if (is_last) return result;
  }
  stream->is_by_kernels = true;
  const DeviceScope scope(stream->device);
  return scope.result() == SLUICE_SUCCESS ? find_signals(stream) : scope.result();
}

// A word as the runtime knows it and its value, by the runtime's `operation` or the module's `kernel`.
template <typename Operation, typename Kernel>
sluice_result_t enqueue_on(sluice_stream *stream, const uint64_t *word, uint64_t value, Operation operation,
                           Kernel kernel) {
  return enqueue_in(stream, [&]() -> sluice_result_t {
    uint64_t *known = nullptr;
    sluice_result_t result = find_word(word, &known);
    if (result != SLUICE_SUCCESS) return result;
    if (!stream->is_by_kernels) return operation(known);
    kernels::Signal signal = {nullptr, value};
    result = find_word_on_device(known, &signal.word);
    return result == SLUICE_SUCCESS ? kernel(known, signal) : result;
  });
}

}  // namespace

sluice_result_t check_not_captured(const sluice_stream &stream) {
  hipStreamCaptureStatus capture = hipStreamCaptureStatusNone;
  const sluice_result_t result =
      translate("hipStreamIsCapturing", g_runtime.hipStreamIsCapturing(stream.stream, &capture));
  if (result != SLUICE_SUCCESS || capture == hipStreamCaptureStatusNone) return result;
  return fail(SLUICE_ERROR_UNSUPPORTED,
              "the stream is being captured into a graph, which would trigger the same messages at each launch; end "
              "the capture first");
}

// The runtime follows whatever address it is given.
int32_t stream_query(const void *native) {
  return native == nullptr ? -1 : 0;
}

sluice_result_t stream_open(void *native, sluice_stream_t **stream, int32_t *device) {
  if (native == nullptr || stream == nullptr || device == nullptr) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                "stream_open: null pointer; the default stream has no handle of its own");
  }
  if (!g_choices.streams) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "queues on streams of this backend are switched off, because no GPU of this vendor has run them "
                "(docs/queue/guide.md); SLUICE_HIP_STREAMS=auto tries all the same");
  }
  if (!has_functions()) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "this HIP runtime does not say whose a stream is; queues need a newer one");
  }
  std::unique_ptr<sluice_stream> made(new (std::nothrow) sluice_stream());
  if (made == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no memory for a stream");
  made->stream = static_cast<hipStream_t>(native);
  made->device = g_runtime.hipGetStreamDeviceId(made->stream);
  sluice_result_t result = check_device(made->device);
  if (result != SLUICE_SUCCESS) return result;
  run_releases();
  result = choose_operations(made.get());
  if (result != SLUICE_SUCCESS) return result;
  *device = made->device;
  *stream = made.release();
  return SLUICE_SUCCESS;
}

sluice_result_t stream_close(sluice_stream_t *stream) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_close: null pointer");
  const std::unique_ptr<sluice_stream> closed(stream);
  return SLUICE_SUCCESS;
}

sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value) {
  return enqueue_on(
      stream, word, value,
      [&](uint64_t *known) {
        return translate("hipStreamWriteValue64", g_runtime.hipStreamWriteValue64(stream->stream, known, value, 0));
      },
      [&](const uint64_t * /*known*/, const kernels::Signal &signal) { return launch_trigger(stream, {&signal, 1}); });
}

sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least) {
  return enqueue_on(
      stream, word, least,
      [&](uint64_t *known) {
        note_wait(known, least);
        return translate("hipStreamWaitValue64", g_runtime.hipStreamWaitValue64(stream->stream, known, least,
                                                                                hipStreamWaitValueGte, UINT64_MAX));
      },
      [&](const uint64_t *known, const kernels::Signal &signal) {
        note_wait(known, least);
        return launch_await(stream, {&signal, 1});
      });
}

sluice_result_t program_stream_create(void **native) {
  hipStream_t made = nullptr;
  const sluice_result_t result =
      translate("hipStreamCreateWithFlags", g_runtime.hipStreamCreateWithFlags(&made, hipStreamNonBlocking));
  if (result == SLUICE_SUCCESS) *native = made;
  return result;
}

sluice_result_t program_stream_destroy(void *native) {
  auto *stream = static_cast<hipStream_t>(native);
  const sluice_result_t result = translate("hipStreamSynchronize", g_runtime.hipStreamSynchronize(stream));
  const sluice_result_t destroyed = translate("hipStreamDestroy", g_runtime.hipStreamDestroy(stream));
  return result != SLUICE_SUCCESS ? result : destroyed;
}

sluice_result_t program_stream_copy(void *native, void *dst, const void *src, size_t size_bytes) {
  return translate("hipMemcpyAsync",
                   g_runtime.hipMemcpyAsync(dst, src, size_bytes, hipMemcpyDefault, static_cast<hipStream_t>(native)));
}

sluice_result_t program_stream_synchronize(void *native) {
  return translate("hipStreamSynchronize", g_runtime.hipStreamSynchronize(static_cast<hipStream_t>(native)));
}

}  // namespace sluice::backends::hip
