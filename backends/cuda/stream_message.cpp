// SPDX-License-Identifier: BSD-3-Clause
// Messages of queues in few commands (sluice/stream_message.h): a kernel copies a message and sets its word, where a
// copy and the driver's writes would be three commands, the first on another engine of the device; and one launch does
// so for several messages, because a launch is what the host pays for.
#include "sluice/stream_message.h"

#include <algorithm>
#include <atomic>
#include <span>

#include "launch.h"
#include "message_blocks.h"
#include "stream_capture.h"
#include "waits.h"

namespace sluice::backends::cuda {
namespace {

constexpr KernelText kText =
#include "message.inc"
    ;
constexpr KernelText kFewText =
#include "few_messages.inc"
    ;
constexpr KernelText kListText =
#include "messages.inc"
    ;

static_assert(kernels::kLengthBits == SLUICE_LENGTH_BITS);

unsigned threads_for(const kernels::MessageTask &task) {
  return message_threads(task.copy.size_bytes, task.n_parts);
}

// Where the kernels of a lane share, which is never another lane's: what was enqueued may run for long after its stream
// was closed. False: as many lanes as there is room for have had theirs.
bool find_shared(uint32_t *shared) {
  static std::atomic<uint32_t> n_given{0};
  if (*shared != 0) return true;
  uint32_t given = n_given.load(std::memory_order_relaxed);
  while (given < kernels::kMostSharingStreams &&
         !n_given.compare_exchange_weak(given, given + 1, std::memory_order_relaxed)) {
  }
  if (given < kernels::kMostSharingStreams) *shared = given + 1;
  return *shared != 0;
}

uint32_t parts_for(uint32_t *shared, uint64_t size_bytes, uint64_t most_parts) {
  const uint32_t n_parts = message_parts(size_bytes, most_parts);
  return n_parts == 1 || !find_shared(shared) ? 1 : n_parts;
}

// Enqueues the kernel of one message, a block for each of its parts; with 0 parts, and then without a mark, in as many
// blocks as its bytes want.
sluice_result_t launch_one_message(const sluice_stream &stream, const Lane &lane, const kernels::MessageTask &task) {
  if (stream.message.function == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "the kernel for this was not loaded when the stream was opened: the device takes none, or a stream "
                "waited for a message");
  }
  kernels::MessageTask passed = task;
  const unsigned n_blocks = task.n_parts != 0 ? task.n_parts : blocks_for(stream.message, {1, task.copy.size_bytes});
  return launch_kernel({&kText, stream.message.function, n_blocks, threads_for(passed), &passed}, lane.graphs,
                       lane.stream);
}

// What goes into a stream, or aside: messages are gathered until there is a launch's worth of them, or one that must
// not run beside them.
class Launches {
 public:
  Launches(const sluice_stream &stream, const Lane &lane, sluice_stream_enqueued_t *enqueued)
      : stream_(stream), lane_(lane), enqueued_(*enqueued) {}

  // A task with a word to set. It may run beside others, at least those since the last flush().
  sluice_result_t add(const kernels::MessageTask &task) {
    if (list_.n_tasks == most_in_list()) {
      const sluice_result_t result = flush();
      if (result != SLUICE_SUCCESS) return result;
    }
    kernels::MessageTask &added = list_.tasks[list_.n_tasks];
    added = task;
    added.n_parts = parts_for(lane_.shared, task.copy.size_bytes, most_parts_);
    if (*lane_.shared != 0) added.shared = (*lane_.shared - 1) * kernels::kMostMessages + list_.n_tasks;
    ++list_.n_tasks;
    list_.n_parts += added.n_parts;
    return SLUICE_SUCCESS;
  }
  // What was gathered goes into the stream.
  sluice_result_t flush() {
    if (list_.n_tasks == 0) return SLUICE_SUCCESS;
    const sluice_result_t result = list_.n_tasks == 1 ? launch_one() : launch_list();
    if (result == SLUICE_SUCCESS) count(list_.n_tasks, 1);
    list_.n_tasks = list_.n_parts = 0;
    return result;
  }
  // None of n messages waits for another: each has blocks of its own, in the one launch of all.
  void keep_apart(uint32_t n) { most_parts_ = kMostWaitingBlocksOfLong / n; }
  // A command of somebody else's went into the stream.
  void count_command() { ++enqueued_.n_commands; }
  std::span<const kernels::MessageTask> gathered() const { return {list_.tasks, list_.n_tasks}; }

 private:
  void count(uint32_t n_messages, uint32_t n_commands) {
    enqueued_.n_messages += n_messages;
    enqueued_.n_commands += n_commands;
  }
  uint64_t most_in_list() const { return stream_.messages.function != nullptr ? kernels::kMostMessages : 1; }

  // Each block has one part.
  sluice_result_t launch_one() {
    kernels::MessageTask &task = list_.tasks[0];
    if (task.least != 0) {
      task.n_parts = static_cast<uint32_t>(std::min<uint64_t>(task.n_parts, kMostWaitingBlocksOfLong));
    }
    return launch_one_message(stream_, lane_, task);
  }

  sluice_result_t launch_list() {
    unsigned n_threads = kWarp;
    bool waits = false;
    for (const kernels::MessageTask &task : gathered()) {
      n_threads = std::max(n_threads, threads_for(task));
      waits = waits || task.least != 0;
    }
    const uint64_t most_waiting = list_.n_parts > list_.n_tasks ? kMostWaitingBlocksOfLong : kMostWaitingBlocks;
    const uint64_t n_blocks = waits ? std::min<uint64_t>(list_.n_parts, most_waiting) : list_.n_parts;
    return launch_list(static_cast<unsigned>(n_blocks), n_threads);
  }

  sluice_result_t launch_list(unsigned n_blocks, unsigned n_threads) {
    if (list_.n_tasks > kernels::kFewMessages || stream_.few_messages.function == nullptr) {
      return launch_kernel({&kListText, stream_.messages.function, n_blocks, n_threads, &list_}, lane_.graphs,
                           lane_.stream);
    }
    kernels::ShortMessageList few = {};
    std::ranges::copy(gathered(), few.tasks);
    few.n_tasks = list_.n_tasks;
    few.n_parts = list_.n_parts;
    return launch_kernel({&kFewText, stream_.few_messages.function, n_blocks, n_threads, &few}, lane_.graphs,
                         lane_.stream);
  }

  const sluice_stream &stream_;
  const Lane lane_;
  sluice_stream_enqueued_t &enqueued_;
  uint64_t most_parts_ = kMostParts;
  kernels::MessageList list_ = {};
};

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

// `enqueue` is called in the stream's context, once for all messages; then what it gathered is launched into `lane`.
template <typename Enqueue>
sluice_result_t enqueue_all(sluice_stream *stream, Lane (*lane)(sluice_stream *), sluice_stream_enqueued_t *enqueued,
                            Enqueue enqueue) {
  *enqueued = {0, 0};
  if (stream == nullptr) return null_stream();
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_not_captured(*stream);
  if (result != SLUICE_SUCCESS) return result;
  Launches launches(*stream, lane(stream), enqueued);
  result = enqueue(&launches);
  return result == SLUICE_SUCCESS ? launches.flush() : result;
}

sluice_result_t add_sends(std::span<const sluice_stream_send_t> sends, Launches *launches) {
  sluice_result_t result = SLUICE_SUCCESS;
  for (const sluice_stream_send_t &send : sends) {
    kernels::MessageTask task = {};
    task.copy = {static_cast<unsigned char *>(send.dst), static_cast<const unsigned char *>(send.src), send.size_bytes};
    task.mark = send.word;
    task.value = send.value;
    result = launches->add(task);
    if (result != SLUICE_SUCCESS) break;
  }
  return result;
}

sluice_result_t send(sluice_stream_t *stream, const sluice_stream_send_t *sends, uint32_t n,
                     sluice_stream_enqueued_t *enqueued) {
  return enqueue_all(stream, lane_of, enqueued,
                     [&](Launches *launches) { return add_sends(std::span(sends, n), launches); });
}

// Graphs of kernels of messages; in the stream's context.
void prepare_graphs(const sluice_stream &stream, const Lane &lane) {
  kernels::MessageTask task = {};
  if (stream.message.function != nullptr) {
    prepare_graph({&kText, stream.message.function, 1, kWarp, &task}, lane.graphs);
  }
  kernels::ShortMessageList few = {};
  if (stream.few_messages.function != nullptr) {
    prepare_graph({&kFewText, stream.few_messages.function, 1, kWarp, &few}, lane.graphs);
  }
  kernels::MessageList list = {};
  if (stream.messages.function != nullptr) {
    prepare_graph({&kListText, stream.messages.function, 1, kWarp, &list}, lane.graphs);
  }
}

// Whether there is that side of the stream; makes it, unless it was tried.
bool has_side(const sluice_stream &stream, StreamSide *side) {
  if (side->stream == nullptr && !side->is_refused) {
    const ContextScope scope(stream.context);
    if (scope.result() != SLUICE_SUCCESS || side_open(stream, side) != SLUICE_SUCCESS) return false;
    prepare_graphs(stream, lane_of(side));
  }
  return side->stream != nullptr;
}

int32_t can_send_aside(sluice_stream_t *stream) {
  if (can_carry(stream) == 0) return 0;
  return has_side(*stream, &stream->side) ? 1 : 0;
}

// What goes to the side comes behind what the stream was given, or beside what it was to send last.
sluice_result_t follow(const sluice_stream &stream, const StreamSide &side, bool is_with_sends, Launches *launches) {
  if (!is_with_sends) launches->count_command();  // the event's record in the stream
  launches->count_command();                      // and the wait for it
  return is_with_sends ? side_follow_with_sends(stream) : side_follow(stream, side);
}

sluice_result_t send_aside(sluice_stream_t *stream, const sluice_stream_send_t *sends, uint32_t n,
                           sluice_stream_enqueued_t *enqueued) {
  *enqueued = {0, 0};
  if (stream == nullptr) return null_stream();
  if (can_send_aside(stream) == 0) return fail(SLUICE_ERROR_UNSUPPORTED, "this stream has no side for sends");
  return enqueue_all(stream, lane_of_side, enqueued, [&](Launches *launches) {
    const sluice_result_t result = follow(*stream, stream->side, false, launches);
    return result == SLUICE_SUCCESS ? add_sends(std::span(sends, n), launches) : result;
  });
}

// `join_sides` in the stream's context, if anything can have gone aside.
template <typename Join>
sluice_result_t join_by(sluice_stream *stream, Join join_sides) {
  if (stream == nullptr) return null_stream();
  if (stream->side.stream == nullptr) return SLUICE_SUCCESS;
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  if (result == SLUICE_SUCCESS) result = check_not_captured(*stream);
  return result == SLUICE_SUCCESS ? join_sides() : result;
}

sluice_result_t join(sluice_stream_t *stream) {
  return join_by(stream, [&] { return side_join(*stream, stream->side); });
}

sluice_result_t add_receive(sluice_stream *stream, const sluice_stream_receive_t &receive, bool is_by_kernel,
                            Launches *launches) {
  kernels::MessageTask task = {};
  task.copy = {static_cast<unsigned char *>(receive.dst), static_cast<const unsigned char *>(receive.from.base),
               receive.most_bytes};
  task.unit_bytes = receive.from.unit_bytes;
  task.units_bytes = receive.from.size_bytes;
  task.word = receive.word;
  task.mark = receive.taken;
  task.value = receive.number;
  // One of the same channel goes first: `taken` counts up.
  sluice_result_t result = SLUICE_SUCCESS;
  if (std::ranges::any_of(launches->gathered(), [&](const auto &before) { return before.mark == receive.taken; })) {
    result = launches->flush();
  }
  if (result != SLUICE_SUCCESS) return result;
  if (is_by_kernel) {
    task.least = receive.least;
    return launches->add(task);
  }
  // The stream comes to this before it does to what is gathered.
  const auto address = reinterpret_cast<CUdeviceptr>(receive.word);
  result = translate("cuStreamWaitValue64",
                     g_driver.cuStreamWaitValue64(stream->stream, address, receive.least, CU_STREAM_WAIT_VALUE_GEQ));
  if (result != SLUICE_SUCCESS) return result;
  launches->count_command();
  return launches->add(task);
}

sluice_result_t receive(sluice_stream_t *stream, const sluice_stream_receive_t *receives, uint32_t n,
                        sluice_stream_enqueued_t *enqueued) {
  return enqueue_all(stream, lane_of, enqueued, [&](Launches *launches) {
    const std::span all(receives, n);
    waits_enqueued(all);
    const bool is_by_kernel = waits_by_kernel(stream);
    sluice_result_t result = SLUICE_SUCCESS;
    for (const sluice_stream_receive_t &one : all) {
      result = add_receive(stream, one, is_by_kernel, launches);
      if (result != SLUICE_SUCCESS) break;
    }
    return result;
  });
}

// One launch has all of them, and they look at their words themselves: a wait of the driver's would hold up those
// behind it.
int32_t can_receive_aside(sluice_stream_t *stream) {
  if (can_send_aside(stream) == 0 || stream->messages.function == nullptr || !waits_by_kernel(stream)) return 0;
  return has_side(*stream, &stream->receiving_side) ? 1 : 0;
}

sluice_result_t receive_aside(sluice_stream_t *stream, const sluice_stream_receive_t *receives, uint32_t n,
                              int32_t is_with_sends, sluice_stream_enqueued_t *enqueued) {
  *enqueued = {0, 0};
  if (stream == nullptr) return null_stream();
  if (n == 0 || n > SLUICE_STREAM_MOST_RECEIVES_ASIDE) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "receive_aside takes 1 to 8 receives");
  }
  if (can_receive_aside(stream) == 0) return fail(SLUICE_ERROR_UNSUPPORTED, "this stream has no side for receives");
  return enqueue_all(stream, lane_of_receiving_side, enqueued, [&](Launches *launches) {
    const std::span all(receives, n);
    sluice_result_t result = follow(*stream, stream->receiving_side, is_with_sends != 0, launches);
    if (result != SLUICE_SUCCESS) return result;
    waits_enqueued(all);
    launches->keep_apart(n);
    for (const sluice_stream_receive_t &one : all) {
      result = add_receive(stream, one, true, launches);
      if (result != SLUICE_SUCCESS) break;
    }
    return result;
  });
}

sluice_result_t join_all(sluice_stream_t *stream) {
  return join_by(stream, [&] {
    return stream->receiving_side.stream != nullptr ? side_join_both(*stream) : side_join(*stream, stream->side);
  });
}

constexpr sluice_stream_message_t kTable = {
    .api_version = SLUICE_STREAM_MESSAGE_API_VERSION,
    .struct_size = sizeof(sluice_stream_message_t),
    .can_carry = can_carry,
    .send = send,
    .receive = receive,
    .can_send_aside = can_send_aside,
    .send_aside = send_aside,
    .join = join,
    .can_receive_aside = can_receive_aside,
    .receive_aside = receive_aside,
    .join_all = join_all,
    .is_captured = is_captured,
    .capture = capture,
    .capture_join = capture_join,
    .capture_copies = capture_copies,
};

}  // namespace

void prepare_message(sluice_stream *stream) {
  if (!can_run_kernels(stream->device)) return;
  if (stream->message.function == nullptr && find_kernel(kText, stream->device, &stream->message) != SLUICE_SUCCESS) {
    log_line(3, error_text());
  }
  if (stream->few_messages.function == nullptr &&
      find_kernel(kFewText, stream->device, &stream->few_messages) != SLUICE_SUCCESS) {
    log_line(3, error_text());
  }
  if (stream->messages.function == nullptr &&
      find_kernel(kListText, stream->device, &stream->messages) != SLUICE_SUCCESS) {
    log_line(3, error_text());
  }
  prepare_graphs(*stream, lane_of(stream));
}

sluice_result_t launch_message(sluice_stream *stream, const kernels::MessageTask &task) {
  return launch_one_message(*stream, lane_of(stream), task);
}

}  // namespace sluice::backends::cuda

extern "C" __attribute__((visibility("default"))) const sluice_stream_message_t *sluice_backend_stream_message() {
  return &sluice::backends::cuda::kTable;
}
