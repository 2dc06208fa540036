// SPDX-License-Identifier: BSD-3-Clause
// Stream: a stream of the program's that triggers what the host does next, and waits for it, by two counters
// (arXiv 2208.04817, section II.D and IV.A).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "device/backend.hpp"
#include "device/place.hpp"
#include "device/stream_words.hpp"
#include "sluice/stream_message.h"

namespace sluice::device {

// One thread at a time, but for triggered() and complete().
class Stream {
 public:
  // Finds whose stream `native` is, and opens it: the backend that knows it for its own, else the first that cannot
  // tell. `native` lives until this is destroyed. Errors: null, no backend knows it, none that is loaded can do this,
  // or the runtime refuses.
  [[nodiscard]] static Status open(void *native, std::unique_ptr<Stream> *stream);
  // The same for a stream of `owner`'s. Errors: `owner` says that it is none of its own; those of open().
  [[nodiscard]] static Status open_of(const Backend &owner, void *native, std::unique_ptr<Stream> *stream);
  // The same without words of its own: for enqueue_alone(), or to see whether it is a stream. Errors: the same.
  [[nodiscard]] static Status open_without_words(void *native, std::unique_ptr<Stream> *stream);
  [[nodiscard]] static Status open_without_words(const Backend &owner, void *native, std::unique_ptr<Stream> *stream);
  // What close() does, unless it was closed or abandoned.
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  Stream(Stream &&) = delete;
  Stream &operator=(Stream &&) = delete;

  // Whose stream it is, and the device it works on.
  [[nodiscard]] const Backend &backend() const noexcept { return *words_.backend; }
  [[nodiscard]] std::int32_t device() const noexcept { return words_.device; }
  // Of its device, for memory that is made there.
  [[nodiscard]] Place place() const noexcept { return {MemoryKind::kDevice, words_.backend, words_.device, 0}; }

  // Whether it copies by itself: some devices' streams refuse what their backend has. Asks by a copy of nothing, but
  // while the stream is captured, when it is taken for one that does.
  [[nodiscard]] bool can_copy() const noexcept;

  // What the program calls it; to tell streams apart, and for nothing else.
  [[nodiscard]] const void *native() const noexcept { return native_; }
  // Its backend has the group `channel`, so that the commands on words of others may be used. Hot.
  [[nodiscard]] bool has_channels() const noexcept { return words_.backend->table().stream_take != nullptr; }

  // Tells the stream to say when it is past the commands on its words, and lets go of it; waits for nothing. What went
  // aside comes before that, and before what the program gives the stream afterwards. Nothing can be enqueued any more;
  // triggered() and complete() may be called until this is destroyed. One thread at a time.
  void close() noexcept;
  // Lets go of a stream that may be gone. Its words are lost.
  void abandon() noexcept;

  // Enqueues: triggered() becomes `number`, which only ever grows. Returns before it has. Joins, if something is aside,
  // which may be an earlier trigger. One thread at a time. Errors: the runtime refuses; nothing was enqueued.
  [[nodiscard]] Status enqueue_trigger(std::uint64_t number);
  // Enqueues: what follows waits until complete() was called with `number` or more. One thread at a time. Errors: as
  // enqueue_trigger().
  [[nodiscard]] Status enqueue_wait(std::uint64_t number) const;

  // Messages of channels; has_channels(). Each call is for a whole batch, by as few commands as the backend can do with
  // (sluice/stream_message.h). *enqueued says how far it came, also after an error: so many of the messages, the first
  // ones, and by how many commands. One thread at a time; return before they have run.
  // Whose words may be set in any order. Joins, as enqueue_trigger(). Errors of both: the runtime refuses.
  [[nodiscard]] Status enqueue_sends(std::span<const sluice_stream_send_t> sends, sluice_stream_enqueued_t *enqueued);
  [[nodiscard]] Status enqueue_receives(std::span<const sluice_stream_receive_t> receives,
                                        sluice_stream_enqueued_t *enqueued) const;
  // Copies that the stream makes side by side, each between memory of its device and memory that is mapped for it, or
  // within one of these; has_channels(). What is enqueued afterwards, sends too, comes behind them. `is_aside`: they go
  // aside, but for long ones. `triggered`: the newest trigger that was enqueued. *n_commands grows. Errors: the runtime
  // refuses; some may have been enqueued.
  // Longer ones are the copy engines': kernels of messages have few blocks.
  static constexpr std::uint64_t kLongCopyBytes = std::uint64_t{1} << 20;
  [[nodiscard]] Status enqueue_copies(std::span<const sluice_copy_t> copies, std::uint64_t triggered, bool is_aside,
                                      unsigned *n_commands);
  // Sends may go aside: behind what the stream was given before, but holding up nothing that it is given afterwards,
  // until join(). They wait for nothing else.
  // Whether this stream can do so; may become true. Setup cost at the first call, then hot.
  [[nodiscard]] bool has_side() const noexcept;
  // As enqueue_sends(); has_side(). Errors: the runtime refuses.
  [[nodiscard]] Status enqueue_sends_aside(std::span<const sluice_stream_send_t> sends,
                                           sluice_stream_enqueued_t *enqueued);
  // Sends went aside, and the stream was not told to wait for them.
  [[nodiscard]] bool is_unjoined() const noexcept { return is_unjoined_; }
  // Enqueues: what follows waits for all sends that went aside, in at most kCommandsOfJoin commands; none where nothing
  // is. Errors: they stay aside, and may be joined later.
  static constexpr unsigned kCommandsOfJoin = 2;
  [[nodiscard]] Status join();
  // One send by the commands of the contract, for which nothing is set up; has_channels(), or it has no bytes. The word
  // stays until it has run. Returns before. Errors: the runtime refuses; the word is not set.
  [[nodiscard]] Status enqueue_alone(const sluice_stream_send_t &send) const;
  // Receives may go aside, too, elsewhere than the sends: up to SLUICE_STREAM_MOST_RECEIVES_ASIDE of different channels
  // in a call. Each message is taken when it is there, and nothing of the stream is held up until join_all().
  // As has_side(), but the answer may change either way.
  [[nodiscard]] bool has_side_for_receives() const noexcept;
  // `is_with_sends`: sends went aside just before, at the same place of the stream. Errors: the runtime refuses;
  // *enqueued says how far it came.
  [[nodiscard]] Status enqueue_receives_aside(std::span<const sluice_stream_receive_t> receives, bool is_with_sends,
                                              sluice_stream_enqueued_t *enqueued);
  [[nodiscard]] bool are_receives_unjoined() const noexcept { return are_receives_unjoined_; }
  // As join(), for all that went aside; twice as many commands at most, as many of them in the stream. Errors: the
  // runtime refuses; all stays aside, and may be joined later.
  [[nodiscard]] Status join_all();
  // The program is capturing the stream into a graph, to which messages can be added; the commands above are refused
  // then. Hot.
  [[nodiscard]] bool is_captured() const noexcept {
    return messages_ != nullptr && messages_->is_captured != nullptr && messages_->is_captured(stream_) != 0;
  }
  // Makes messages part of that graph: behind what was captured so far, and with no order with what is captured next
  // until capture_join(), without which nothing is received (sluice/stream_message.h). is_captured(). Errors: nothing
  // was added. One thread at a time.
  [[nodiscard]] Status capture(std::span<const sluice_captured_t> messages) const;
  [[nodiscard]] Status capture_join() const;
  // The same for copies, which come before what is captured next. Errors: some may have been added.
  [[nodiscard]] Status capture_copies(std::span<const sluice_copy_t> copies) const;
  // enqueue_trigger() as one of these sends, in the stream or aside: it says that the stream has come there, and
  // nothing of the others.
  [[nodiscard]] sluice_stream_send_t trigger(std::uint64_t number) const noexcept {
    return {nullptr, nullptr, 0, words_.trigger, number};
  }

  // The newest trigger that the stream has come to; what precedes it in the stream is done and visible. Any thread.
  // Hot.
  [[nodiscard]] std::uint64_t triggered() const noexcept { return __atomic_load_n(words_.trigger, __ATOMIC_ACQUIRE); }
  // Lets the stream's waits up to `number` pass; it sees what was done before. `number` only ever grows. Any thread.
  void complete(std::uint64_t number) const noexcept { __atomic_store_n(words_.completion, number, __ATOMIC_RELEASE); }

 private:
  Stream(const void *native, sluice_stream_t *stream, const StreamWords &words,
         const sluice_stream_message_t *messages) noexcept;

  // The rest of the opening of one whose owner is known.
  [[nodiscard]] static Status open_native(const Backend &backend, void *native, std::unique_ptr<Stream> *stream);
  [[nodiscard]] static Status give_words(std::unique_ptr<Stream> opened, std::unique_ptr<Stream> *stream);
  // The same, on words that stay until it has run.
  [[nodiscard]] Status enqueue_alone(const sluice_stream_receive_t &receive) const;
  // As the table of messages has it, or one by one.
  template <typename Message, typename Together>
  [[nodiscard]] Status enqueue_all(std::span<const Message> messages, Together together,
                                   sluice_stream_enqueued_t *enqueued) const;
  // As the table of messages does it, which is there and can.
  template <typename Message, typename Together>
  [[nodiscard]] Status enqueue_together(std::span<const Message> messages, Together together,
                                        sluice_stream_enqueued_t *enqueued) const;

  const void *native_;
  sluice_stream_t *stream_;  // null once closed
  StreamWords words_;
  const sluice_stream_message_t *messages_;  // null: the module has none
  bool is_abandoned_ = false;
  bool is_unjoined_ = false;
  bool are_receives_unjoined_ = false;
};

// Whether this process has any stream open that may wait for Sluice. Hot. Any thread.
[[nodiscard]] bool has_streams() noexcept;

// The backend whose programs call the type of their streams `word`. Errors: no loaded backend that can trigger and wait
// in streams has that word. Any thread.
[[nodiscard]] Status find_stream_owner(std::string_view word, const Backend **owner);

}  // namespace sluice::device
