// SPDX-License-Identifier: BSD-3-Clause
// Messages of queues in one command or two (sluice/stream_message.h): a kernel of one block copies a message and sets
// its word, where a copy and the driver's writes would be three commands, the first on another engine of the device.
#include "sluice/stream_message.h"

#include <algorithm>

#include "launch.h"
#include "stream.h"
#include "waits.h"

namespace sluice::backends::cuda {
namespace {

constexpr KernelText kText =
#include "message.inc"
    ;

constexpr uint64_t kMostThreads = 1024;
constexpr uint64_t kWarp = 32;
constexpr uint64_t kVectorBytes = 16;
// Up to here one block copies and sets the word; above, many blocks copy, and a second kernel sets it.
constexpr uint64_t kMostOfOneBlock = uint64_t{64} << 10U;

// Enqueues the kernels of `task`, which has a word to set.
sluice_result_t launch_with_mark(const sluice_stream &stream, const kernels::MessageTask &task) {
  if (task.copy.size_bytes <= kMostOfOneBlock) return launch_message(stream, task, true);
  kernels::MessageTask copying = task;
  copying.mark = nullptr;
  kernels::MessageTask marking = task;
  marking.copy.size_bytes = 0;
  marking.word = nullptr;
  const sluice_result_t result = launch_message(stream, copying, false);
  return result == SLUICE_SUCCESS ? launch_message(stream, marking, true) : result;
}

sluice_result_t null_stream() {
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
}

int32_t can_carry(sluice_stream_t *stream) {
  if (stream == nullptr) return 0;
  if (stream->message.function == nullptr) {
    const ContextScope scope(stream->context);
    if (scope.result() != SLUICE_SUCCESS) return 0;
    prepare_message(stream);
  }
  return stream->message.function != nullptr ? 1 : 0;
}

sluice_result_t send(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes, uint64_t *word,
                     uint64_t value) {
  if (stream == nullptr) return null_stream();
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_not_captured(*stream);
  if (result != SLUICE_SUCCESS) return result;
  kernels::MessageTask task = {};
  task.copy = {static_cast<unsigned char *>(dst), static_cast<const unsigned char *>(src), size_bytes};
  task.mark = word;
  task.value = value;
  return launch_with_mark(*stream, task);
}

sluice_result_t receive(sluice_stream_t *stream, void *dst, const void *src, size_t most_bytes, const uint64_t *word,
                        uint64_t least, uint64_t *taken, uint64_t number) {
  if (stream == nullptr) return null_stream();
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_not_captured(*stream);
  if (result != SLUICE_SUCCESS) return result;
  wait_enqueued(taken, number);
  kernels::MessageTask task = {};
  task.copy = {static_cast<unsigned char *>(dst), static_cast<const unsigned char *>(src), most_bytes};
  task.word = word;
  task.mark = taken;
  task.value = number;
  const bool is_by_kernel = waits_by_kernel(stream);
  if (is_by_kernel && most_bytes <= kMostOfOneBlock) {
    task.least = least;
  } else if (is_by_kernel) {
    // Many blocks are not to wait side by side: they would keep others from the device.
    kernels::MessageTask waiting = {};
    waiting.word = word;
    waiting.least = least;
    result = launch_message(*stream, waiting, true);
  } else {
    const auto address = reinterpret_cast<CUdeviceptr>(word);
    result = translate("cuStreamWaitValue64",
                       g_driver.cuStreamWaitValue64(stream->stream, address, least, CU_STREAM_WAIT_VALUE_GEQ));
  }
  return result == SLUICE_SUCCESS ? launch_with_mark(*stream, task) : result;
}

constexpr sluice_stream_message_t kTable = {
    .api_version = SLUICE_STREAM_MESSAGE_API_VERSION,
    .struct_size = sizeof(sluice_stream_message_t),
    .can_carry = can_carry,
    .send = send,
    .receive = receive,
};

}  // namespace

void prepare_message(sluice_stream *stream) {
  if (!can_run_kernels(stream->device)) return;
  if (stream->message.function == nullptr && find_kernel(kText, stream->device, &stream->message) != SLUICE_SUCCESS) {
    log_line(3, error_text());
  }
}

sluice_result_t launch_message(const sluice_stream &stream, const kernels::MessageTask &task, bool is_one_block) {
  if (stream.message.function == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "the kernel for this was not loaded when the stream was opened: the device takes none, or a stream "
                "waited for a message");
  }
  kernels::MessageTask passed = task;
  void *arguments[] = {&passed};
  const uint64_t n_vectors = task.copy.size_bytes / kVectorBytes + 1;
  const unsigned n_blocks = is_one_block ? 1 : blocks_for(stream.message, {1, task.copy.size_bytes});
  const uint64_t n_threads =
      is_one_block ? std::min((n_vectors + kWarp - 1) / kWarp * kWarp, kMostThreads) : kBlockThreads;
  return translate("cuLaunchKernel",
                   g_driver.cuLaunchKernel(stream.message.function, n_blocks, 1, 1, static_cast<unsigned>(n_threads), 1,
                                           1, 0, stream.stream, arguments, nullptr));
}

}  // namespace sluice::backends::cuda

extern "C" __attribute__((visibility("default"))) const sluice_stream_message_t *sluice_backend_stream_message() {
  return &sluice::backends::cuda::kTable;
}
