// SPDX-License-Identifier: BSD-3-Clause
// Messages of queues in few commands (sluice/stream_message.h): up to 32 of a batch are copied by one kernel, and their
// words set by another; on the receiver's side one more waits for all of them. One command for all of it is not to be
// had: a device's memory is coherent with what others see of it only where kernels begin and end, so the bytes are
// there for a kernel that began after the word had come, and for whoever sees a word that a later kernel set.
#include "sluice/stream_message.h"

#include <algorithm>
#include <array>
#include <span>

#include "stream.h"
#include "waits.h"

namespace sluice::backends::hip {

namespace {

// Up to kMost of something, in their order.
template <typename Item>
class Few {
 public:
  static constexpr size_t kMost = kernels::kMostMessages;

  void add(const Item &item) { items_[n_items_++] = item; }
  std::span<const Item> all() const { return std::span(items_).first(n_items_); }
  bool is_empty() const { return n_items_ == 0; }

 private:
  std::array<Item, kMost> items_ = {};
  size_t n_items_ = 0;
};

static_assert(kernels::kMostSignals == kernels::kMostMessages);

int32_t can_carry(sluice_stream_t *stream) {
  if (stream == nullptr) return 0;
  if (stream->take.function != nullptr && stream->trigger.function != nullptr && stream->await.function != nullptr) {
    return 1;
  }
  const DeviceScope scope(stream->device);
  return scope.result() == SLUICE_SUCCESS && find_message_kernels(stream) == SLUICE_SUCCESS ? 1 : 0;
}

// A word of a message as a kernel is given it, and as the runtime knows it.
sluice_result_t find_signal(const uint64_t *word, uint64_t value, kernels::Signal *signal, uint64_t **known) {
  *signal = {nullptr, value};
  const sluice_result_t result = find_word(word, known);
  return result == SLUICE_SUCCESS ? find_word_on_device(*known, &signal->word) : result;
}

// What is launched for some messages: a kernel for all copies, if there are any, and one for all words.
struct Batch {
  Few<kernels::MessageTask> copies;
  Few<kernels::Signal> words;
};

sluice_result_t launch_batch(sluice_stream *stream, const Batch &batch, sluice_stream_enqueued_t *enqueued) {
  sluice_result_t result = SLUICE_SUCCESS;
  if (!batch.copies.is_empty()) {
    result = launch_take(stream, batch.copies.all());
    if (result != SLUICE_SUCCESS) return result;
    ++enqueued->n_commands;
  }
  result = launch_trigger(stream, batch.words.all());
  if (result != SLUICE_SUCCESS) return result;
  ++enqueued->n_commands;
  enqueued->n_messages += static_cast<uint32_t>(batch.words.all().size());
  return SLUICE_SUCCESS;
}

// ---- sends ----

sluice_result_t add_send(int32_t device, const sluice_stream_send_t &send, Batch *batch) {
  kernels::Signal signal = {};
  uint64_t *known = nullptr;
  sluice_result_t result = find_signal(send.word, send.value, &signal, &known);
  if (result != SLUICE_SUCCESS) return result;
  if (send.size_bytes != 0) {
    void *dst = nullptr;
    void *src = nullptr;
    result = find_range(device, send.dst, send.size_bytes, &dst);
    if (result == SLUICE_SUCCESS) result = find_range(device, send.src, send.size_bytes, &src);
    if (result != SLUICE_SUCCESS) return result;
    kernels::MessageTask task = {};
    task.copy = {static_cast<unsigned char *>(dst), static_cast<const unsigned char *>(src), send.size_bytes};
    batch->copies.add(task);
  }
  batch->words.add(signal);
  return SLUICE_SUCCESS;
}

sluice_result_t send_some(sluice_stream *stream, std::span<const sluice_stream_send_t> sends,
                          sluice_stream_enqueued_t *enqueued) {
  Batch batch;
  for (const sluice_stream_send_t &send : sends) {
    const sluice_result_t result = add_send(stream->device, send, &batch);
    if (result != SLUICE_SUCCESS) return result;
  }
  return launch_batch(stream, batch, enqueued);
}

// ---- receives ----

struct ReceiveBatch {
  Few<sluice_stream_receive_t> known;  // with the words as the runtime knows them
  Few<kernels::Signal> awaited;
  Batch rest;
};

sluice_result_t add_receive(int32_t device, const sluice_stream_receive_t &receive, ReceiveBatch *batch) {
  kernels::Signal awaited = {};
  kernels::Signal taken = {};
  uint64_t *word = nullptr;
  uint64_t *mark = nullptr;
  sluice_result_t result = find_signal(receive.word, receive.least, &awaited, &word);
  if (result == SLUICE_SUCCESS) result = find_signal(receive.taken, receive.number, &taken, &mark);
  if (result != SLUICE_SUCCESS) return result;
  if (receive.most_bytes != 0) {
    kernels::MessageTask task;
    result = make_take(device, receive, word, &task);
    if (result != SLUICE_SUCCESS) return result;
    batch->rest.copies.add(task);
  }
  sluice_stream_receive_t known = receive;
  known.word = word;
  known.taken = mark;
  batch->known.add(known);
  batch->awaited.add(awaited);
  batch->rest.words.add(taken);
  return SLUICE_SUCCESS;
}

sluice_result_t await_all(sluice_stream *stream, const ReceiveBatch &batch, sluice_stream_enqueued_t *enqueued) {
  note_waits(batch.known.all());
  if (stream->is_by_kernels) {
    const sluice_result_t result = launch_await(stream, batch.awaited.all());
    if (result == SLUICE_SUCCESS) ++enqueued->n_commands;
    return result;
  }
  for (const sluice_stream_receive_t &receive : batch.known.all()) {
    auto *const word = const_cast<uint64_t *>(receive.word);
    const sluice_result_t result = translate(
        "hipStreamWaitValue64",
        g_runtime.hipStreamWaitValue64(stream->stream, word, receive.least, hipStreamWaitValueGte, UINT64_MAX));
    if (result != SLUICE_SUCCESS) return result;
    ++enqueued->n_commands;
  }
  return SLUICE_SUCCESS;
}

sluice_result_t receive_some(sluice_stream *stream, std::span<const sluice_stream_receive_t> receives,
                             sluice_stream_enqueued_t *enqueued) {
  ReceiveBatch batch;
  for (const sluice_stream_receive_t &receive : receives) {
    const sluice_result_t result = add_receive(stream->device, receive, &batch);
    if (result != SLUICE_SUCCESS) return result;
  }
  const sluice_result_t result = await_all(stream, batch, enqueued);
  return result == SLUICE_SUCCESS ? launch_batch(stream, batch.rest, enqueued) : result;
}

// How many, from the first one on, go together: `taken` counts up, so there is one of each channel.
size_t n_together(std::span<const sluice_stream_send_t> sends) {
  return std::min<size_t>(sends.size(), kernels::kMostMessages);
}
size_t n_together(std::span<const sluice_stream_receive_t> receives) {
  const size_t most = std::min<size_t>(receives.size(), kernels::kMostMessages);
  for (size_t n = 1; n < most; ++n) {
    const auto is_same = [&](const sluice_stream_receive_t &before) { return before.taken == receives[n].taken; };
    if (std::ranges::any_of(receives.first(n), is_same)) return n;
  }
  return most;
}

// `enqueue_some` is called in the scope of the stream's device, for those that go together.
template <typename Message, typename EnqueueSome>
sluice_result_t enqueue_all(sluice_stream *stream, std::span<const Message> messages,
                            sluice_stream_enqueued_t *enqueued, EnqueueSome enqueue_some) {
  *enqueued = {0, 0};
  return enqueue_in(stream, [&] {
    sluice_result_t result = find_message_kernels(stream);
    while (result == SLUICE_SUCCESS && !messages.empty()) {
      const size_t n = n_together(messages);
      result = enqueue_some(stream, messages.first(n), enqueued);
      messages = messages.subspan(n);
    }
    return result;
  });
}

sluice_result_t send(sluice_stream_t *stream, const sluice_stream_send_t *sends, uint32_t n,
                     sluice_stream_enqueued_t *enqueued) {
  return enqueue_all(stream, std::span(sends, n), enqueued, send_some);
}

sluice_result_t receive(sluice_stream_t *stream, const sluice_stream_receive_t *receives, uint32_t n,
                        sluice_stream_enqueued_t *enqueued) {
  return enqueue_all(stream, std::span(receives, n), enqueued, receive_some);
}

// Nothing goes aside: streams share the few queues of the hardware, in which a send of a stream of its own might come
// to stand behind another stream that waits (docs/backends/hip.md), and no device was there to see it (docs/adr/0052).
constexpr sluice_stream_message_t make_table() {
  sluice_stream_message_t table{};
  table.api_version = SLUICE_STREAM_MESSAGE_API_VERSION;
  table.struct_size = sizeof(sluice_stream_message_t);
  table.can_carry = can_carry;
  table.send = send;
  table.receive = receive;
  return table;
}
constexpr sluice_stream_message_t kTable = make_table();

}  // namespace

}  // namespace sluice::backends::hip

extern "C" __attribute__((visibility("default"))) const sluice_stream_message_t *sluice_backend_stream_message() {
  return &sluice::backends::hip::kTable;
}
