// SPDX-License-Identifier: BSD-3-Clause
// Messages captured into a graph (docs/adr/0057), as functions of the host's among the commands of the queue: sends
// where they are started, receives where the stream is to wait for them. They do what kernels/captured.hpp does, on
// memory that only the runtime's copies reach.
#include <cstddef>
#include <span>

#include "stream.h"

namespace sluice::backends::emu {
namespace {

constexpr uint64_t kSlots = SLUICE_CAPTURED_SLOTS;

emu_result_t read_end(const sluice_captured_t &message, sluice_captured_end_t *end) {
  return emu_memcpy(end, message.end, sizeof(*end));
}

// One launch of one message, in the queue's thread.
emu_result_t carry(const void *arguments) {
  const auto &message = *static_cast<const sluice_captured_t *>(arguments);
  sluice_captured_end_t end = {};
  emu_result_t result = read_end(message, &end);
  while (result == EMU_SUCCESS && end.is_ready == 0) {
    result = emu_kernel_pause();
    if (result == EMU_SUCCESS) result = read_end(message, &end);
  }
  if (result != EMU_SUCCESS) return result;
  const uint64_t number = end.n_launches + 1;
  const bool is_send = message.is_send != 0;
  const auto has_come = [&] {
    return is_send ? __atomic_load_n(end.taken, __ATOMIC_ACQUIRE) + kSlots >= number
                   : __atomic_load_n(end.filled, __ATOMIC_ACQUIRE) >= number;
  };
  while (!has_come()) {
    result = emu_kernel_pause();
    if (result != EMU_SUCCESS) return result;
  }
  auto *slot = static_cast<std::byte *>(end.slots) + number % kSlots * end.slot_bytes;
  if (end.size_bytes != 0) {
    result = is_send ? emu_memcpy(slot, message.data, end.size_bytes) : emu_memcpy(message.data, slot, end.size_bytes);
  }
  // Also behind a copy that failed, which the ticket tells: the other side is not to wait for ever.
  const emu_result_t counted = emu_memcpy(&message.end->n_launches, &number, sizeof(number));
  __atomic_store_n(is_send ? end.filled : end.taken, number, __ATOMIC_RELEASE);
  return result != EMU_SUCCESS ? result : counted;
}

sluice_result_t enqueue(const sluice_stream &stream, const sluice_captured_t &message) {
  return translate(emu_host_function_async(stream.queue, carry, &message, sizeof(message)));
}

// *id: of the capture under way.
sluice_result_t find_capture(sluice_stream_t *stream, uint64_t *id) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
  const sluice_result_t result = translate(emu_queue_capture(stream->queue, id));
  if (result != SLUICE_SUCCESS || *id != 0) return result;
  return fail(SLUICE_ERROR_UNSUPPORTED, "the stream is not being captured into a graph");
}

int32_t is_captured(sluice_stream_t *stream) {
  uint64_t id = 0;
  return stream != nullptr && emu_queue_capture(stream->queue, &id) == EMU_SUCCESS && id != 0 ? 1 : 0;
}

sluice_result_t capture(sluice_stream_t *stream, const sluice_captured_t *messages, uint32_t n) {
  uint64_t id = 0;
  sluice_result_t result = find_capture(stream, &id);
  if (result != SLUICE_SUCCESS) return result;
  if (stream->captured_in != id) stream->captured_receives.clear();
  stream->captured_in = id;
  for (const sluice_captured_t &message : std::span(messages, n)) {
    if (message.is_send == 0) stream->captured_receives.push_back(message);
    if (message.is_send != 0 && result == SLUICE_SUCCESS) result = enqueue(*stream, message);
  }
  return result;
}

sluice_result_t capture_join(sluice_stream_t *stream) {
  uint64_t id = 0;
  sluice_result_t result = find_capture(stream, &id);
  if (result != SLUICE_SUCCESS) return result;
  if (stream->captured_in != id) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "no message was captured into this graph; call MPIX_Enqueue_start before MPIX_Enqueue_wait");
  }
  for (const sluice_captured_t &message : stream->captured_receives) {
    if (result == SLUICE_SUCCESS) result = enqueue(*stream, message);
  }
  if (result == SLUICE_SUCCESS) stream->captured_receives.clear();
  return result;
}

sluice_result_t capture_copies(sluice_stream_t *stream, const sluice_copy_t *copies, uint32_t n) {
  uint64_t id = 0;
  sluice_result_t result = find_capture(stream, &id);
  for (const sluice_copy_t &copy : std::span(copies, n)) {
    if (result != SLUICE_SUCCESS) break;
    result = translate(emu_memcpy_async(stream->queue, copy.dst, copy.src, copy.size_bytes));
  }
  return result;
}

// Other messages are commands of the contract.
constexpr sluice_stream_message_t make_table() {
  sluice_stream_message_t table{};
  table.api_version = SLUICE_STREAM_MESSAGE_API_VERSION;
  table.struct_size = sizeof(sluice_stream_message_t);
  table.is_captured = is_captured;
  table.capture = capture;
  table.capture_join = capture_join;
  table.capture_copies = capture_copies;
  return table;
}
constexpr sluice_stream_message_t kTable = make_table();

}  // namespace
}  // namespace sluice::backends::emu

extern "C" __attribute__((visibility("default"))) const sluice_stream_message_t *sluice_backend_stream_message() {
  return &sluice::backends::emu::kTable;
}
