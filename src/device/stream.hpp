// SPDX-License-Identifier: BSD-3-Clause
// Stream: a stream of the program's that triggers what the host does next, and waits for it, by two counters
// (arXiv 2208.04817, section II.D and IV.A).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/backend.hpp"
#include "device/stream_words.hpp"
#include "sluice/stream_message.h"

namespace sluice::device {

class Stream {
 public:
  // Finds whose stream `native` is, and opens it: the backend that knows it for its own, else the first that cannot
  // tell. `native` lives until this is destroyed. Errors: null, no backend knows it, or none that is loaded can do
  // this.
  [[nodiscard]] static Status open(void *native, std::unique_ptr<Stream> *stream);
  // What close() does, unless it was closed or abandoned.
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  Stream(Stream &&) = delete;
  Stream &operator=(Stream &&) = delete;

  [[nodiscard]] const Backend &backend() const noexcept { return *words_.backend; }
  [[nodiscard]] std::int32_t device() const noexcept { return words_.device; }

  // What the program calls it; to tell streams apart, and for nothing else.
  [[nodiscard]] const void *native() const noexcept { return native_; }
  // Its backend has the group `channel`, so that the commands on words of others may be used. Hot.
  [[nodiscard]] bool has_channels() const noexcept { return words_.backend->table().stream_take != nullptr; }

  // Tells the stream to say when it is past the commands below, and lets go of it; waits for nothing. Nothing can be
  // enqueued any more; triggered() and complete() may be called until this is destroyed. One thread at a time.
  void close() noexcept;
  // Lets go of a stream that may be gone. Its words are lost.
  void abandon() noexcept;

  // Enqueues: triggered() becomes `number`, which only ever grows. Returns before it has. One thread at a time.
  [[nodiscard]] Status enqueue_trigger(std::uint64_t number) const;
  // Enqueues: what follows waits until complete() was called with `number` or more. One thread at a time.
  [[nodiscard]] Status enqueue_wait(std::uint64_t number) const;

  // Commands on words of SharedWords, which stay until they have run; has_channels(). One thread at a time; return
  // before they have run. Errors: the runtime refuses, and nothing was enqueued.
  // Waits until *word is at least that.
  [[nodiscard]] Status enqueue_wait_for(const std::uint64_t *word, std::uint64_t least) const;
  // Sets *word; whoever sees that finds what earlier commands wrote.
  [[nodiscard]] Status enqueue_set(std::uint64_t *word, std::uint64_t value) const;
  // Copies between memory of the stream's device and memory that was imported for it.
  [[nodiscard]] Status enqueue_copy(void *dst, const void *src, std::size_t size_bytes) const;
  // The same, of as many bytes as the lower half of *word says then, at most that many.
  [[nodiscard]] Status enqueue_take(void *dst, const void *src, std::size_t most_bytes,
                                    const std::uint64_t *word) const;

  // Whether the messages below can be enqueued (sluice/stream_message.h); asked again it may have come true. Setup cost
  // the first time. One thread at a time.
  [[nodiscard]] bool has_messages() const noexcept {
    return messages_ != nullptr && messages_->can_carry(stream_) != 0;
  }
  // The commands above for a whole message in one or two, where has_messages() is true: copy and set; wait, take and
  // set.
  struct WaitFor {
    const std::uint64_t *word;
    std::uint64_t least;
  };
  struct Mark {
    std::uint64_t *word;
    std::uint64_t value;
  };
  [[nodiscard]] Status enqueue_send(void *dst, const void *src, std::size_t size_bytes, const Mark &filled) const;
  [[nodiscard]] Status enqueue_receive(void *dst, const void *src, std::size_t most_bytes, const WaitFor &filled,
                                       const Mark &taken) const;

  // The newest trigger that the stream has come to; what precedes it in the stream is done and visible. Any thread.
  // Hot.
  [[nodiscard]] std::uint64_t triggered() const noexcept { return __atomic_load_n(words_.trigger, __ATOMIC_ACQUIRE); }
  // Lets the stream's waits up to `number` pass; it sees what was done before. `number` only ever grows. Any thread.
  void complete(std::uint64_t number) const noexcept { __atomic_store_n(words_.completion, number, __ATOMIC_RELEASE); }

 private:
  Stream(const void *native, sluice_stream_t *stream, const StreamWords &words,
         const sluice_stream_message_t *messages) noexcept
      : native_(native), stream_(stream), words_(words), messages_(messages) {}

  const void *native_;
  sluice_stream_t *stream_;  // null once closed
  StreamWords words_;
  const sluice_stream_message_t *messages_;  // null: the module has none
  bool is_abandoned_ = false;
};

}  // namespace sluice::device
