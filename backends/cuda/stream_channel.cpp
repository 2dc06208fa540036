// SPDX-License-Identifier: BSD-3-Clause
// The group `channel`: words in memory that processes share, and copies in the program's stream.
#include <map>
#include <mutex>
#include <span>

#include "launch.h"
#include "stream.h"
#include "stream_capture.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

// The lengths in bytes of what host_register was given, by address.
std::mutex g_mutex;
std::map<const void *, size_t> &registered() {
  static auto *made = new std::map<const void *, size_t>();
  return *made;
}

// What the driver makes of an address that is none would come out when the stream is there, and take its context along.
struct Range {
  const void *memory;
  size_t size_bytes;
};
sluice_result_t check_ends(int32_t device, const Range &range) {
  if (range.size_bytes == 0) return SLUICE_SUCCESS;
  const sluice_result_t result = check_reached_by(device, range.memory);
  if (result != SLUICE_SUCCESS || range.size_bytes == 1) return result;
  return check_reached_by(device, static_cast<const char *>(range.memory) + range.size_bytes - 1);
}

sluice_result_t check_captured(sluice_stream *stream) {
  if (is_captured(stream) != 0) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, "the stream is not being captured into a graph");
}

// `enqueue` is called in the stream's context, when both ranges are memory for it.
template <typename Enqueue>
sluice_result_t enqueue_copy(sluice_stream *stream, bool is_captured, const Range &dst, const Range &src,
                             Enqueue enqueue) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = is_captured ? check_captured(stream) : check_not_captured(*stream);
  if (result == SLUICE_SUCCESS) result = check_ends(stream->device, dst);
  if (result == SLUICE_SUCCESS) result = check_ends(stream->device, src);
  return result == SLUICE_SUCCESS ? enqueue() : result;
}

sluice_result_t copy_in(sluice_stream *stream, bool is_captured, const sluice_copy_t &copy) {
  return enqueue_copy(stream, is_captured, {copy.dst, copy.size_bytes}, {copy.src, copy.size_bytes}, [&] {
    if (copy.size_bytes == 0) return SLUICE_SUCCESS;
    return translate("cuMemcpyAsync",
                     g_driver.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(copy.dst),
                                            reinterpret_cast<CUdeviceptr>(copy.src), copy.size_bytes, stream->stream));
  });
}

}  // namespace

sluice_result_t host_register(int32_t device, void *memory, size_t size_bytes) {
  run_releases();
  const sluice_result_t result = in_context_of(device, [&] {
    sluice_result_t registering = translate(
        "cuMemHostRegister",
        g_driver.cuMemHostRegister(memory, size_bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    if (registering != SLUICE_SUCCESS) return registering;
    // The contract has the words under the same address, and so has every system that maps host memory at all.
    CUdeviceptr address = 0;
    registering = translate("cuMemHostGetDevicePointer", g_driver.cuMemHostGetDevicePointer(&address, memory, 0));
    if (registering == SLUICE_SUCCESS && address != reinterpret_cast<CUdeviceptr>(memory)) {
      registering = fail(SLUICE_ERROR_UNSUPPORTED, "this device has host memory under addresses of its own");
    }
    if (registering != SLUICE_SUCCESS) g_driver.cuMemHostUnregister(memory);  // the first error is the one to tell
    return registering;
  });
  if (result == SLUICE_SUCCESS) {
    const std::scoped_lock lock(g_mutex);
    registered()[memory] = size_bytes;
  }
  return result;
}

// The driver takes whatever comes to lie under a registered address for the old pages, so the pages stay mapped until
// it has let go of them: not while a stream waits.
sluice_result_t host_unregister(int32_t device, void *memory) {
  size_t size_bytes = 0;
  {
    const std::scoped_lock lock(g_mutex);
    const auto found = registered().find(memory);
    if (found == registered().end()) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, "host_unregister: this memory was not registered here");
    }
    size_bytes = found->second;
  }
  words_gone(memory, size_bytes);
  const Quiet quiet;
  if (!quiet.is_kept()) return SLUICE_NOT_READY;
  {
    const std::scoped_lock lock(g_mutex);
    registered().erase(memory);
  }
  return give_back_now(device, "cuMemHostUnregister", CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                       [memory] { return g_driver.cuMemHostUnregister(memory); });
}

sluice_result_t stream_copy(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes) {
  return copy_in(stream, false, {dst, src, size_bytes});
}

sluice_result_t capture_copies(sluice_stream_t *stream, const sluice_copy_t *copies, uint32_t n) {
  sluice_result_t result = SLUICE_SUCCESS;
  for (const sluice_copy_t &copy : std::span(copies, n)) {
    result = copy_in(stream, true, copy);
    if (result != SLUICE_SUCCESS) break;
  }
  return result;
}

sluice_result_t stream_take(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                            const uint64_t *word) {
  if (from == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_take: null pointer");
  // Of the units whichever the word will name.
  return enqueue_copy(
      stream, false, {dst, most_bytes}, {from->base, most_bytes != 0 ? from->size_bytes : 0}, [&]() -> sluice_result_t {
        CUdeviceptr address = 0;
        const sluice_result_t result = address_of_word(word, &address);
        if (result != SLUICE_SUCCESS || most_bytes == 0) return result;
        if (stream->message.function == nullptr) prepare_message(stream);
        kernels::MessageTask task = {};
        task.copy = {static_cast<unsigned char *>(dst), static_cast<const unsigned char *>(from->base), most_bytes};
        task.word = reinterpret_cast<const uint64_t *>(address);
        task.unit_bytes = from->unit_bytes;
        task.units_bytes = from->size_bytes;
        return launch_message(stream, task);
      });
}

}  // namespace sluice::backends::cuda
