// SPDX-License-Identifier: BSD-3-Clause
#include "device/stream.hpp"

#include <fmt/format.h>

#include <atomic>
#include <vector>

#include "base/log.hpp"
#include "device/registry.hpp"
#include "device/stream_messages.hpp"

namespace sluice::device {
namespace {

std::atomic<int> n_streams{0};

// The backend to ask for `native`; null with *status saying why there is none.
const Backend *find_owner(void *native, Status *status) {
  if (native == nullptr) {
    *status = Status::error(ErrorKind::kInvalidArgument,
                            "the stream is null: a runtime's default stream has no handle; make a stream of its own");
    return nullptr;
  }
  const Backend *possible = nullptr;
  std::string able;
  std::string unable;
  for (const Backend *backend : Registry::process().backends()) {
    const sluice_backend_t &table = backend->table();
    std::string &list = table.stream_open != nullptr ? able : unable;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", backend->name());
    if (table.stream_open == nullptr) continue;
    const std::int32_t answer = table.stream_query(native);
    if (answer > 0) return backend;
    if (answer == 0 && possible == nullptr) possible = backend;
  }
  if (possible != nullptr) return possible;
  if (able.empty()) {
    *status = Status::error(
        ErrorKind::kUnsupported,
        fmt::format("no loaded backend can trigger and wait in streams ({}); docs/queue/guide.md says which can",
                    unable.empty() ? "none is loaded" : "loaded: " + unable));
  } else {
    *status = Status::error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} is no stream of {}{}; give the runtime's own stream handle, as docs/queue/guide.md says",
                    native, able, unable.empty() ? "" : " (and " + unable + " cannot trigger and wait in streams)"));
  }
  return nullptr;
}

}  // namespace

Status find_stream_owner(std::string_view word, const Backend **owner) {
  std::string known;
  for (const Backend *backend : Registry::process().backends()) {
    if (backend->table().stream_words == nullptr) continue;
    for (const char *const *one = backend->table().stream_words(); one != nullptr && *one != nullptr; ++one) {
      if (word == *one) {
        *owner = backend;
        return {};
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", *one);
    }
  }
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("no loaded backend can trigger and wait in streams of type {} (there are: {}); "
                                   "docs/queue/guide.md says which backends can, and `sluice info` which are loaded",
                                   word, known.empty() ? "none" : known));
}

Status Stream::open_native(const Backend &backend, void *native, std::unique_ptr<Stream> *stream) {
  sluice_stream_t *opened = nullptr;
  std::int32_t device = 0;
  const sluice_result_t result = backend.table().stream_open(native, &opened, &device);
  if (result != SLUICE_SUCCESS) return backend.check(result, "open a stream of the program's");
  stream->reset(new Stream(native, opened, {&backend, device}, find_stream_messages(backend)));
  return {};
}

Status Stream::give_words(std::unique_ptr<Stream> opened, std::unique_ptr<Stream> *stream) {
  Status status = acquire_words(&opened->backend(), opened->device(), &opened->words_);
  if (status.is_ok()) *stream = std::move(opened);
  return status;
}

Status Stream::open(void *native, std::unique_ptr<Stream> *stream) {
  std::unique_ptr<Stream> opened;
  if (Status status = open_without_words(native, &opened); !status.is_ok()) return status;
  return give_words(std::move(opened), stream);
}

Status Stream::open_without_words(const Backend &owner, void *native, std::unique_ptr<Stream> *stream) {
  if (native == nullptr || owner.table().stream_query(native) < 0) {
    return Status::error(ErrorKind::kInvalidArgument,
                         fmt::format("{} is no stream of {}; give the runtime's own stream handle, as "
                                     "docs/queue/guide.md says",
                                     native, owner.name()));
  }
  return open_native(owner, native, stream);
}

Status Stream::open_of(const Backend &owner, void *native, std::unique_ptr<Stream> *stream) {
  std::unique_ptr<Stream> opened;
  if (Status status = open_without_words(owner, native, &opened); !status.is_ok()) return status;
  return give_words(std::move(opened), stream);
}

Status Stream::open_without_words(void *native, std::unique_ptr<Stream> *stream) {
  Status status;
  const Backend *backend = find_owner(native, &status);
  return backend != nullptr ? open_native(*backend, native, stream) : status;
}

Stream::Stream(const void *native, sluice_stream_t *stream, const StreamWords &words,
               const sluice_stream_message_t *messages) noexcept
    : native_(native), stream_(stream), words_(words), messages_(messages) {
  n_streams.fetch_add(1, std::memory_order_relaxed);
}

bool has_streams() noexcept {
  return n_streams.load(std::memory_order_relaxed) != 0;
}

Stream::~Stream() {
  n_streams.fetch_sub(1, std::memory_order_relaxed);
  close();
  if (!is_abandoned_) release_words(words_, true);
}

void Stream::close() noexcept {
  if (stream_ == nullptr) return;
  const sluice_backend_t &table = words_.backend->table();
  Status marked = join_all();
  if (marked.is_ok() && words_.trigger != nullptr) {
    marked = words_.backend->check(table.stream_write(stream_, words_.trigger, StreamWords::kGivenUp),
                                   "give up the words of a stream");
  }
  // Nobody can tell then when the stream is past them, and nobody else gets them.
  if (!marked.is_ok()) log::warn_once("stream_mark", "device", marked.message());
  const Status closed = words_.backend->check(table.stream_close(stream_), "close a stream");
  if (!closed.is_ok()) log::warn_once("stream_close", "device", closed.message());
  stream_ = nullptr;
}

void Stream::abandon() noexcept {
  if (stream_ == nullptr) return;
  const Status closed = words_.backend->check(words_.backend->table().stream_close(stream_), "close a stream");
  if (!closed.is_ok()) log::warn_once("stream_close", "device", closed.message());
  stream_ = nullptr;
  is_abandoned_ = true;
}

bool Stream::can_copy() const noexcept {
  if (!has_channels() || is_captured()) return has_channels();
  return words_.backend->table().stream_copy(stream_, words_.trigger, words_.trigger, 0) == SLUICE_SUCCESS;
}

bool Stream::has_side() const noexcept {
  return messages_ != nullptr && messages_->can_send_aside != nullptr && messages_->can_send_aside(stream_) != 0;
}

Status Stream::join() {
  if (!is_unjoined_) return {};
  Status status = words_.backend->check(messages_->join(stream_), "have a stream wait for what was sent aside of it");
  is_unjoined_ = !status.is_ok();
  return status;
}

bool Stream::has_side_for_receives() const noexcept {
  return messages_ != nullptr && messages_->can_receive_aside != nullptr && messages_->can_receive_aside(stream_) != 0;
}

Status Stream::join_all() {
  if (!are_receives_unjoined_) return join();
  Status status = words_.backend->check(messages_->join_all(stream_), "have a stream wait for what went aside of it");
  if (status.is_ok()) is_unjoined_ = are_receives_unjoined_ = false;
  return status;
}

Status Stream::enqueue_trigger(std::uint64_t number) {
  if (Status status = join(); !status.is_ok()) return status;
  return words_.backend->check(words_.backend->table().stream_write(stream_, words_.trigger, number),
                               "enqueue a trigger into a stream");
}

Status Stream::enqueue_wait(std::uint64_t number) const {
  return words_.backend->check(words_.backend->table().stream_wait(stream_, words_.completion, number),
                               "enqueue a wait into a stream");
}

Status Stream::enqueue_alone(const sluice_stream_send_t &send) const {
  const sluice_backend_t &table = words_.backend->table();
  sluice_result_t result = SLUICE_SUCCESS;
  if (send.size_bytes != 0) result = table.stream_copy(stream_, send.dst, send.src, send.size_bytes);
  if (result == SLUICE_SUCCESS) result = table.stream_write(stream_, send.word, send.value);
  return words_.backend->check(result, "enqueue a message into a stream");
}

Status Stream::enqueue_alone(const sluice_stream_receive_t &receive) const {
  const sluice_backend_t &table = words_.backend->table();
  sluice_result_t result = table.stream_wait(stream_, receive.word, receive.least);
  if (result == SLUICE_SUCCESS && receive.most_bytes != 0) {
    result = table.stream_take(stream_, receive.dst, &receive.from, receive.most_bytes, receive.word);
  }
  if (result == SLUICE_SUCCESS) result = table.stream_write(stream_, receive.taken, receive.number);
  return words_.backend->check(result, "enqueue the end of a message into a stream");
}

namespace {

// Of enqueue_alone().
std::uint32_t n_commands_of(const sluice_stream_send_t &send) noexcept {
  return send.size_bytes != 0 ? 2 : 1;
}
std::uint32_t n_commands_of(const sluice_stream_receive_t &receive) noexcept {
  return receive.most_bytes != 0 ? 3 : 2;
}

}  // namespace

template <typename Message, typename Together>
Status Stream::enqueue_together(std::span<const Message> messages, Together together,
                                sluice_stream_enqueued_t *enqueued) const {
  return words_.backend->check(
      (messages_->*together)(stream_, messages.data(), static_cast<std::uint32_t>(messages.size()), enqueued),
      "enqueue messages into a stream");
}

template <typename Message, typename Together>
Status Stream::enqueue_all(std::span<const Message> messages, Together together,
                           sluice_stream_enqueued_t *enqueued) const {
  *enqueued = {0, 0};
  if (messages.empty()) return {};
  if (messages_ != nullptr && messages_->can_carry != nullptr && messages_->can_carry(stream_) != 0) {
    return enqueue_together(messages, together, enqueued);
  }
  for (const Message &message : messages) {
    if (Status status = enqueue_alone(message); !status.is_ok()) return status;
    ++enqueued->n_messages;
    enqueued->n_commands += n_commands_of(message);
  }
  return {};
}

Status Stream::enqueue_sends(std::span<const sluice_stream_send_t> sends, sluice_stream_enqueued_t *enqueued) {
  *enqueued = {0, 0};
  if (Status status = join(); !status.is_ok()) return status;
  return enqueue_all(sends, &sluice_stream_message_t::send, enqueued);
}

Status Stream::enqueue_sends_aside(std::span<const sluice_stream_send_t> sends, sluice_stream_enqueued_t *enqueued) {
  *enqueued = {0, 0};
  if (sends.empty()) return {};
  Status status = enqueue_together(sends, &sluice_stream_message_t::send_aside, enqueued);
  is_unjoined_ = is_unjoined_ || enqueued->n_messages != 0;
  return status;
}

// Short ones as sends whose word says what it says already.
Status Stream::enqueue_copies(std::span<const sluice_copy_t> copies, std::uint64_t triggered, bool is_aside,
                              unsigned *n_commands) {
  std::vector<sluice_stream_send_t> sends;
  sends.reserve(copies.size());
  for (const sluice_copy_t &copy : copies) {
    if (copy.size_bytes <= kLongCopyBytes) {
      sends.push_back({copy.dst, copy.src, copy.size_bytes, words_.trigger, triggered});
      continue;
    }
    if (Status status = join(); !status.is_ok()) return status;
    const sluice_result_t result = words_.backend->table().stream_copy(stream_, copy.dst, copy.src, copy.size_bytes);
    if (result != SLUICE_SUCCESS) return words_.backend->check(result, "enqueue a copy into a stream");
    ++*n_commands;
  }
  sluice_stream_enqueued_t enqueued{};
  Status status = is_aside ? enqueue_sends_aside(sends, &enqueued) : enqueue_sends(sends, &enqueued);
  *n_commands += enqueued.n_commands;
  return status;
}

Status Stream::enqueue_receives_aside(std::span<const sluice_stream_receive_t> receives, bool is_with_sends,
                                      sluice_stream_enqueued_t *enqueued) {
  *enqueued = {0, 0};
  if (receives.empty()) return {};
  Status status = words_.backend->check(
      messages_->receive_aside(stream_, receives.data(), static_cast<std::uint32_t>(receives.size()),
                               is_with_sends ? 1 : 0, enqueued),
      "enqueue messages aside of a stream");
  are_receives_unjoined_ = are_receives_unjoined_ || enqueued->n_messages != 0;
  return status;
}

Status Stream::capture(std::span<const sluice_captured_t> messages) const {
  return words_.backend->check(
      messages_->capture(stream_, messages.data(), static_cast<std::uint32_t>(messages.size())),
      "add messages to the graph that a stream is being captured into");
}

Status Stream::capture_join() const {
  return words_.backend->check(messages_->capture_join(stream_), "have a captured stream wait for its messages");
}

Status Stream::capture_copies(std::span<const sluice_copy_t> copies) const {
  if (copies.empty()) return {};
  return words_.backend->check(
      messages_->capture_copies(stream_, copies.data(), static_cast<std::uint32_t>(copies.size())),
      "add copies to the graph that a stream is being captured into");
}

Status Stream::enqueue_receives(std::span<const sluice_stream_receive_t> receives,
                                sluice_stream_enqueued_t *enqueued) const {
  return enqueue_all(receives, &sluice_stream_message_t::receive, enqueued);
}

}  // namespace sluice::device
