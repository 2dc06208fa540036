// SPDX-License-Identifier: BSD-3-Clause
// Kernels in streams of the program's: triggers and waits (SLUICE_HIP_STREAMS), as arXiv 2208.04817, section
// V.F has them beside the runtime's operations, and copies of messages. A word lies in memory of the host's that the
// runtime has registered, which is coherent while kernels run. A device's memory is up to date for others where a
// kernel ends, and for its own where one begins; so no kernel waits for what it then reads.
#include <algorithm>

#include "stream.h"

namespace sluice::backends::hip {

namespace {

sluice_result_t find(int32_t device, const KernelBody &body, Kernel *kernel) {
  if (kernel->function != nullptr) return SLUICE_SUCCESS;
  if (!can_run_kernels(device)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "no kernels here: the runtime's compiler (libhiprtc) is not there");
  }
  return find_kernel(device, body, kernel);
}

// A work-item for each word.
sluice_result_t launch(sluice_stream *stream, const Kernel &kernel, std::span<const kernels::Signal> signals) {
  kernels::SignalList list = {};
  std::ranges::copy(signals, list.signals);
  list.n_signals = signals.size();
  return launch_in(stream->stream, kernel, 1, static_cast<unsigned>(signals.size()), &list);
}

}  // namespace

sluice_result_t find_signals(sluice_stream *stream) {
  const sluice_result_t result = find(stream->device, trigger_body(), &stream->trigger);
  return result == SLUICE_SUCCESS ? find(stream->device, await_body(), &stream->await) : result;
}

sluice_result_t find_take(sluice_stream *stream) {
  return find(stream->device, take_body(), &stream->take);
}

sluice_result_t find_message_kernels(sluice_stream *stream) {
  const sluice_result_t result = find_take(stream);
  return result == SLUICE_SUCCESS ? find_signals(stream) : result;
}

sluice_result_t launch_take(sluice_stream *stream, std::span<const kernels::MessageTask> tasks) {
  kernels::TakeList list = {};
  std::ranges::copy(tasks, list.tasks);
  list.n_tasks = tasks.size();
  uint64_t longest_bytes = 0;
  for (const kernels::MessageTask &task : tasks) longest_bytes = std::max(longest_bytes, task.copy.size_bytes);
  return launch_in(stream->stream, stream->take, {list.n_tasks, longest_bytes}, &list);
}

sluice_result_t launch_trigger(sluice_stream *stream, std::span<const kernels::Signal> signals) {
  return launch(stream, stream->trigger, signals);
}

sluice_result_t launch_await(sluice_stream *stream, std::span<const kernels::Signal> signals) {
  return launch(stream, stream->await, signals);
}

}  // namespace sluice::backends::hip
