// SPDX-License-Identifier: BSD-3-Clause
// The program's streams, which are queues of the runtime: an emu_queue_t *.
#include "stream.h"

#include <atomic>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace sluice::backends::emu {
namespace {

emu_queue_t *native_of(sluice_stream_t *stream) {
  return stream != nullptr ? stream->queue : nullptr;
}

// `enqueue` is called where the queue is not being captured.
template <typename Enqueue>
sluice_result_t outside_of_capture(sluice_stream_t *stream, Enqueue enqueue) {
  uint64_t id = 0;
  const sluice_result_t result = translate(emu_queue_capture(native_of(stream), &id));
  if (result != SLUICE_SUCCESS) return result;
  if (id == 0) return enqueue();
  return fail(
      SLUICE_ERROR_UNSUPPORTED,
      "the stream is being captured into a graph, which would trigger the same messages at each launch; end the "
      "capture first, or set SLUICE_QUEUE_ENGINE=device on all ranks, whose messages can be captured");
}

// SLUICE_EMU_STREAMS is kernels.
std::atomic<bool> g_is_by_kernels{false};

// The argument is the value.
void write_kernel(const void *arguments, void *const *memory) {
  uint64_t value = 0;
  std::memcpy(&value, arguments, sizeof(value));
  __atomic_store_n(static_cast<uint64_t *>(memory[0]), value, __ATOMIC_RELEASE);
}

// The argument is the least value.
void wait_kernel(const void *arguments, void *const *memory) {
  uint64_t least = 0;
  std::memcpy(&least, arguments, sizeof(least));
  const auto *word = static_cast<const uint64_t *>(memory[0]);
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < least && emu_kernel_pause() == EMU_SUCCESS) {
  }
}

// By a kernel on that one word. The runtime takes any memory for a kernel's; words are what its own commands take.
sluice_result_t launch_on_word(sluice_stream_t *stream, emu_kernel_t kernel, const uint64_t *word, uint64_t value) {
  if (const sluice_result_t known = translate(emu_queue_check_word(native_of(stream), word)); known != SLUICE_SUCCESS) {
    return known;
  }
  const emu_range_t range = {word, sizeof(*word)};
  return translate(emu_launch_async(native_of(stream), kernel, &value, sizeof(value), &range, 1, 1));
}

}  // namespace

void read_stream_operations() {
  g_is_by_kernels.store(knob_text("SLUICE_EMU_STREAMS") == "kernels", std::memory_order_relaxed);
}

int32_t stream_query(const void *native) {
  int32_t device = 0;
  return native != nullptr && emu_queue_device(static_cast<const emu_queue_t *>(native), &device) == EMU_SUCCESS ? 1
                                                                                                                 : -1;
}

sluice_result_t stream_open(void *native, sluice_stream_t **stream, int32_t *device) {
  if (stream == nullptr || device == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_open: null pointer");
  const sluice_result_t result = translate(emu_queue_device(static_cast<emu_queue_t *>(native), device));
  if (result != SLUICE_SUCCESS) return result;
  *stream = new (std::nothrow) sluice_stream{static_cast<emu_queue_t *>(native), 0, {}};
  return *stream != nullptr ? SLUICE_SUCCESS : fail(SLUICE_ERROR_OUT_OF_MEMORY, "no memory for a stream");
}

sluice_result_t stream_close(sluice_stream_t *stream) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_close: null pointer");
  delete stream;
  return SLUICE_SUCCESS;
}

sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value) {
  return outside_of_capture(stream, [&] {
    if (g_is_by_kernels.load(std::memory_order_relaxed)) return launch_on_word(stream, write_kernel, word, value);
    return translate(emu_queue_write64(native_of(stream), word, value));
  });
}

sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least) {
  return outside_of_capture(stream, [&] {
    if (g_is_by_kernels.load(std::memory_order_relaxed)) return launch_on_word(stream, wait_kernel, word, least);
    return translate(emu_queue_wait64(native_of(stream), word, least));
  });
}

// The runtime has one list for all devices.
sluice_result_t host_register(int32_t device, void *memory, size_t size_bytes) {
  const DeviceScope scope(device);
  return scope.result() == SLUICE_SUCCESS ? translate(emu_host_register(memory, size_bytes)) : scope.result();
}

sluice_result_t host_unregister(int32_t device, void *memory) {
  const DeviceScope scope(device);
  return scope.result() == SLUICE_SUCCESS ? translate(emu_host_unregister(memory)) : scope.result();
}

sluice_result_t stream_copy(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes) {
  return outside_of_capture(stream,
                            [&] { return translate(emu_memcpy_async(native_of(stream), dst, src, size_bytes)); });
}

sluice_result_t stream_take(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                            const uint64_t *word) {
  if (from == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_take: null pointer");
  return outside_of_capture(stream, [&] {
    return translate(
        emu_queue_take(native_of(stream), dst, {from->base, from->size_bytes}, from->unit_bytes, most_bytes, word));
  });
}

sluice_result_t program_stream_create(void **native) {
  emu_queue_t *made = nullptr;
  const sluice_result_t result = translate(emu_queue_create(&made));
  if (result == SLUICE_SUCCESS) *native = made;
  return result;
}

sluice_result_t program_stream_destroy(void *native) {
  return translate(emu_queue_destroy(static_cast<emu_queue_t *>(native)));
}

sluice_result_t program_stream_copy(void *native, void *dst, const void *src, size_t size_bytes) {
  return translate(emu_memcpy_async(static_cast<emu_queue_t *>(native), dst, src, size_bytes));
}

sluice_result_t program_stream_synchronize(void *native) {
  return translate(emu_queue_synchronize(static_cast<emu_queue_t *>(native)));
}

}  // namespace sluice::backends::emu
