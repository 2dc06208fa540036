// SPDX-License-Identifier: BSD-3-Clause
// The program's streams: a hipStream_t. Triggers and waits are the runtime's stream memory operations, which it carries
// out by small kernels or by the device's command processor.
#include "stream.h"

#include <memory>
#include <new>

#include "waits.h"

namespace sluice::backends::hip {

namespace {

bool has_functions() {
  return g_runtime.hipStreamWriteValue64 != nullptr && g_runtime.hipStreamWaitValue64 != nullptr &&
         g_runtime.hipGetStreamDeviceId != nullptr && g_runtime.hipStreamIsCapturing != nullptr;
}

sluice_result_t check_device_waits(int32_t device) {
  int can = 0;
  const sluice_result_t result = translate(
      "hipDeviceGetAttribute", g_runtime.hipDeviceGetAttribute(&can, hipDeviceAttributeCanUseStreamWaitValue, device));
  if (result != SLUICE_SUCCESS || can != 0) return result;
  return fail(SLUICE_ERROR_UNSUPPORTED, "this device has no stream memory operations; queues need a newer one");
}

// `enqueue` is given the word as the runtime knows it, with the stream's device current.
template <typename Enqueue>
sluice_result_t enqueue_on(sluice_stream *stream, const uint64_t *word, const char *call, Enqueue enqueue) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
  const DeviceScope scope(stream->device);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_not_captured(*stream);
  uint64_t *found = nullptr;
  if (result == SLUICE_SUCCESS) result = find_word(word, &found);
  return result == SLUICE_SUCCESS ? translate(call, enqueue(found)) : result;
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
                "(docs/queue.md); SLUICE_HIP_STREAMS=on tries all the same");
  }
  if (!has_functions()) return fail(SLUICE_ERROR_UNSUPPORTED, "this HIP runtime has no stream memory operations");
  const int32_t found = g_runtime.hipGetStreamDeviceId(static_cast<hipStream_t>(native));
  sluice_result_t result = check_device(found);
  if (result == SLUICE_SUCCESS) result = check_device_waits(found);
  if (result != SLUICE_SUCCESS) return result;
  run_releases();
  *stream = new (std::nothrow) sluice_stream{static_cast<hipStream_t>(native), found, {}};
  if (*stream == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no memory for a stream");
  *device = found;
  return SLUICE_SUCCESS;
}

sluice_result_t stream_close(sluice_stream_t *stream) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_close: null pointer");
  const std::unique_ptr<sluice_stream> closed(stream);
  return SLUICE_SUCCESS;
}

sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value) {
  return enqueue_on(stream, word, "hipStreamWriteValue64",
                    [&](uint64_t *found) { return g_runtime.hipStreamWriteValue64(stream->stream, found, value, 0); });
}

sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least) {
  return enqueue_on(stream, word, "hipStreamWaitValue64", [&](uint64_t *found) {
    note_wait(found, least);
    return g_runtime.hipStreamWaitValue64(stream->stream, found, least, hipStreamWaitValueGte, UINT64_MAX);
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
