// SPDX-License-Identifier: BSD-3-Clause
// The program's streams: a CUstream, which is also the runtime's cudaStream_t. Triggers and waits are the driver's
// stream memory operations, or kernels (stream_kernels.cpp).
#include "stream.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "presence.h"
#include "waits.h"

namespace sluice::backends::cuda {
namespace {

bool has_functions() {
  return g_driver.cuStreamWriteValue64 != nullptr && g_driver.cuStreamWaitValue64 != nullptr &&
         g_driver.cuStreamGetCtx != nullptr && g_driver.cuStreamIsCapturing != nullptr;
}

// In the stream's context, whose device is to have 64-bit operations, unless kernels stand for them.
sluice_result_t find_device(int32_t *device) {
  CUdevice ordinal = 0;
  const sluice_result_t result = translate("cuCtxGetDevice", g_driver.cuCtxGetDevice(&ordinal));
  if (result != SLUICE_SUCCESS) return result;
  *device = ordinal;
  if (g_signals == Signals::kKernels) return SLUICE_SUCCESS;
  int can = 0;
  const CUresult native =
      g_driver.cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, ordinal);
  if (native != CUDA_SUCCESS) return translate("cuDeviceGetAttribute", native);
  if (can != 0) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, "this device has no 64-bit stream memory operations; queues need a newer one");
}

// 0: the driver's own number, which is 8, and fewer through the multi-process service.
long n_asked_connections() {
  const char *setting = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return setting != nullptr ? std::strtol(setting, nullptr, 10) : 0;
}

void warn_of_few_connections(int32_t device) {
  static std::atomic<bool> is_told{false};
  if (is_told || !has_few_connections(device) || is_told.exchange(true)) return;
  log_line(1,
           "queues of processes that share a device by the service: streams share few connections, and a stream that "
           "waits for a message may hold up the program's others for good; set CUDA_DEVICE_MAX_CONNECTIONS=32");
}

}  // namespace

// Through the vendor's multi-process service a process has few connections to the device, if it does not ask for more;
// its streams share them, and behind one that waits the others wait too.
bool has_few_connections(int32_t device) {
  constexpr long kEnough = 8;  // what a process has without the service
  return n_asked_connections() < kEnough && is_shared_at_once(device);
}

sluice_result_t address_of_word(const uint64_t *word, CUdeviceptr *address) {
  unsigned type = 0;
  *address = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
  void *values[] = {&type, address};
  const sluice_result_t result =
      translate("cuPointerGetAttributes",
                g_driver.cuPointerGetAttributes(2, wanted, values, reinterpret_cast<CUdeviceptr>(word)));
  if (result != SLUICE_SUCCESS) return result;
  if (type == CU_MEMORYTYPE_HOST && *address != 0 && *address % sizeof(*word) == 0) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_INVALID_ARGUMENT,
              "a word must be aligned to 8 bytes, in memory of host_alloc or host_register");
}

sluice_result_t check_not_captured(const sluice_stream &stream) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const sluice_result_t result =
      translate("cuStreamIsCapturing", g_driver.cuStreamIsCapturing(stream.stream, &capture));
  if (result != SLUICE_SUCCESS || capture == CU_STREAM_CAPTURE_STATUS_NONE) return result;
  return fail(
      SLUICE_ERROR_UNSUPPORTED,
      "the stream is being captured into a graph, which would trigger the same messages at each launch; end the "
      "capture first, or set SLUICE_QUEUE_ENGINE=device on all ranks, whose messages can be captured");
}

namespace {

// The same, where *found says as long as no words were given back: a stream's own words are asked for once.
sluice_result_t address_of_known_word(const uint64_t *word, sluice_stream::FoundWord *found, CUdeviceptr *address) {
  const uint64_t generation = words_generation();
  if (found->word == word && found->generation == generation) {
    *address = found->address;
    return SLUICE_SUCCESS;
  }
  const sluice_result_t result = address_of_word(word, address);
  if (result == SLUICE_SUCCESS) *found = {word, *address, generation};
  return result;
}

// `enqueue` is given the word's address, in the stream's context. `found` is a member of *stream.
template <typename Enqueue>
sluice_result_t enqueue_on(sluice_stream *stream, const uint64_t *word, sluice_stream::FoundWord sluice_stream::*found,
                           Enqueue enqueue) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_not_captured(*stream);
  if (result != SLUICE_SUCCESS) return result;
  CUdeviceptr address = 0;
  result = address_of_known_word(word, &(stream->*found), &address);
  return result == SLUICE_SUCCESS ? enqueue(address) : result;
}

}  // namespace

// The driver follows whatever address it is given.
int32_t stream_query(const void *native) {
  return native == nullptr ? -1 : 0;
}

sluice_result_t stream_open(void *native, sluice_stream_t **stream, int32_t *device) {
  if (native == nullptr || stream == nullptr || device == nullptr) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                "stream_open: null pointer; the default stream has no handle of its own");
  }
  if (g_signals == Signals::kNone) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "SLUICE_CUDA_STREAMS=off has switched off queues on streams of this backend; set it to auto");
  }
  if (!has_functions()) return fail(SLUICE_ERROR_UNSUPPORTED, "this driver has no stream memory operations");
  std::unique_ptr<sluice_stream> made(new (std::nothrow) sluice_stream());
  if (made == nullptr) return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no memory for a stream");
  made->stream = static_cast<CUstream>(native);
  sluice_result_t result = translate("cuStreamGetCtx", g_driver.cuStreamGetCtx(made->stream, &made->context));
  if (result != SLUICE_SUCCESS) return result;
  const ContextScope scope(made->context);
  result = scope.result();
  if (result == SLUICE_SUCCESS) result = find_device(device);
  if (result != SLUICE_SUCCESS) return result;
  made->device = *device;
  if (g_driver.cuCtxGetId != nullptr) {
    result = translate("cuCtxGetId", g_driver.cuCtxGetId(made->context, &made->context_number));
    if (result != SLUICE_SUCCESS) return result;
  }
  warn_of_few_connections(*device);
  run_releases();
#ifdef SLUICE_CUDA_HAS_KERNELS
  if (g_signals != Signals::kMemory) result = prepare_signals(made.get());
  if (result != SLUICE_SUCCESS && g_signals == Signals::kKernels) return result;
  prepare_message(made.get());
#else
  if (g_signals == Signals::kKernels) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "this module was built without kernels; set SLUICE_CUDA_STREAMS=auto");
  }
#endif
  *stream = made.release();
  return SLUICE_SUCCESS;
}

sluice_result_t stream_close(sluice_stream_t *stream) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_close: null pointer");
  const std::shared_ptr<sluice_stream> closed(stream);
  if (!closed->graphs.empty() || closed->side.stream != nullptr) {
    release_later([closed] {
      // A context that is gone, or another one under the same handle, has taken them with it.
      unsigned long long number = 0;
      const ContextScope scope(closed->context);
      if (scope.result() != SLUICE_SUCCESS || g_driver.cuCtxGetId(closed->context, &number) != CUDA_SUCCESS ||
          number != closed->context_number) {
        return;
      }
      if (graphs_close(&closed->graphs) != SLUICE_SUCCESS) log_line(1, error_text());
      for (StreamSide *side : {&closed->side, &closed->receiving_side}) {
        if (side_close(side) != SLUICE_SUCCESS) log_line(1, error_text());
      }
    });
  }
  return SLUICE_SUCCESS;
}

// The default flags: a barrier for all memory before the value.
sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value) {
  return enqueue_on(stream, word, &sluice_stream::written, [&](CUdeviceptr address) {
#ifdef SLUICE_CUDA_HAS_KERNELS
    if (g_signals == Signals::kKernels) return launch_trigger(stream, address, value);
#endif
    return translate("cuStreamWriteValue64",
                     g_driver.cuStreamWriteValue64(stream->stream, address, value, CU_STREAM_WRITE_VALUE_DEFAULT));
  });
}

sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least) {
  return enqueue_on(stream, word, &sluice_stream::awaited, [&](CUdeviceptr address) {
    wait_enqueued(word, least);
#ifdef SLUICE_CUDA_HAS_KERNELS
    if (waits_by_kernel(stream)) return launch_await(stream, address, least);
#endif
    return translate("cuStreamWaitValue64",
                     g_driver.cuStreamWaitValue64(stream->stream, address, least, CU_STREAM_WAIT_VALUE_GEQ));
  });
}

sluice_result_t program_stream_create(void **native) {
  CUstream made = nullptr;
  CUcontext current = nullptr;
  sluice_result_t result = translate("cuCtxGetCurrent", g_driver.cuCtxGetCurrent(&current));
  if (result == SLUICE_SUCCESS && current == nullptr) result = program_set_device(0);
  if (result == SLUICE_SUCCESS) {
    result = translate("cuStreamCreate", g_driver.cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  }
  if (result == SLUICE_SUCCESS) *native = made;
  return result;
}

sluice_result_t program_stream_destroy(void *native) {
  auto *stream = static_cast<CUstream>(native);
  const sluice_result_t result = translate("cuStreamSynchronize", g_driver.cuStreamSynchronize(stream));
  const sluice_result_t destroyed = translate("cuStreamDestroy", g_driver.cuStreamDestroy(stream));
  return result != SLUICE_SUCCESS ? result : destroyed;
}

sluice_result_t program_stream_copy(void *native, void *dst, const void *src, size_t size_bytes) {
  return translate("cuMemcpyAsync",
                   g_driver.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(dst), reinterpret_cast<CUdeviceptr>(src),
                                          size_bytes, static_cast<CUstream>(native)));
}

sluice_result_t program_stream_synchronize(void *native) {
  return translate("cuStreamSynchronize", g_driver.cuStreamSynchronize(static_cast<CUstream>(native)));
}

}  // namespace sluice::backends::cuda
