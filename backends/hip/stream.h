// SPDX-License-Identifier: BSD-3-Clause
// A stream of the program's, and what is asked before a command goes into it.
#pragma once

#include <span>

#include "launch.h"
#include "module.h"
#include "signals.hpp"
#include "sluice/stream_message.h"
#include "take.hpp"

struct sluice_stream {
  hipStream_t stream = nullptr;
  int32_t device = 0;
  bool is_by_kernels = false;  // triggers and waits
  // Without a function: not looked for yet.
  sluice::backends::hip::Kernel take;
  sluice::backends::hip::Kernel trigger;
  sluice::backends::hip::Kernel await;
};

namespace sluice::backends::hip {

// SLUICE_ERROR_UNSUPPORTED and a text where `stream` is being captured into a graph. Its device is current.
sluice_result_t check_not_captured(const sluice_stream &stream);

// `enqueue` is called with the stream's device current, when commands may go into it; what it answers.
template <typename Enqueue>
sluice_result_t enqueue_in(sluice_stream *stream, Enqueue enqueue) {
  if (stream == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
  const DeviceScope scope(stream->device);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_not_captured(*stream);
  return result == SLUICE_SUCCESS ? enqueue() : result;
}

// ---- stream_channel.cpp; any thread ----

// Where the runtime knows a word of memory of host_alloc or host_register, which is another address of the same word
// for the second; no other memory is taken.
sluice_result_t find_word(const uint64_t *word, uint64_t **found);
// Where kernels of the current device find what find_word() found.
sluice_result_t find_word_on_device(uint64_t *known, uint64_t **found);
// device_range() for memory of host_register, too.
sluice_result_t find_range(int32_t device, const void *memory, size_t size_bytes, void **found);
// What the kernel that takes messages has to do for `receive`, whose word the runtime knows as `known`: no look at
// whether it has come.
sluice_result_t make_take(int32_t device, const sluice_stream_receive_t &receive, uint64_t *known,
                          kernels::MessageTask *task);

// ---- stream_kernels.cpp: kernels in streams. The stream's device is current; one thread at a time for a stream ----

// Finds the kernel that takes messages; those that trigger and wait; or all of them. Compiles what the device has not
// had yet. SLUICE_ERROR_UNSUPPORTED: they cannot be had.
sluice_result_t find_take(sluice_stream *stream);
sluice_result_t find_signals(sluice_stream *stream);
sluice_result_t find_message_kernels(sluice_stream *stream);
// Each enqueues a kernel that was found, for 1 to kernels::kMostMessages of them. All addresses are the device's.
sluice_result_t launch_trigger(sluice_stream *stream, std::span<const kernels::Signal> signals);
sluice_result_t launch_await(sluice_stream *stream, std::span<const kernels::Signal> signals);
sluice_result_t launch_take(sluice_stream *stream, std::span<const kernels::MessageTask> tasks);

}  // namespace sluice::backends::hip
