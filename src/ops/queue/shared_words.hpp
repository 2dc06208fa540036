// SPDX-License-Identifier: BSD-3-Clause
// SharedWords: words that streams of two processes of a node write and wait for, and memory of the host behind them
// that they copy into and out of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/backend.hpp"
#include "device/host_registration.hpp"
#include "wire/shared_segment.hpp"

namespace sluice::ops::queue {

// A shared segment, and from reach() on good for streams of one device. Given back when destroyed; no command on it is
// pending then. Threads: any for get() and set(), while they are open. All else one at a time.
class SharedWords {
 public:
  SharedWords() noexcept = default;
  ~SharedWords() { close(); }
  SharedWords(const SharedWords &) = delete;
  SharedWords &operator=(const SharedWords &) = delete;
  SharedWords(SharedWords &&) = delete;
  SharedWords &operator=(SharedWords &&) = delete;

  // Makes words, all 0, and so many bytes behind them, under a name for another process; or maps those of another, of
  // the same numbers. When nothing is open. Errors: the system refuses.
  [[nodiscard]] Status create(std::size_t n_words, std::size_t n_bytes_behind, wire::SegmentName *name);
  [[nodiscard]] Status open(const wire::SegmentName &name, std::size_t n_words, std::size_t n_bytes_behind);
  // Gives all back; no command on it is pending.
  void close() noexcept;
  // Makes them good for streams of `device`. Errors: the runtime refuses, or a stream waits and this would hold up its
  // caller (a later call may work).
  [[nodiscard]] Status reach(const device::Backend *backend, std::int32_t device);

  [[nodiscard]] bool is_open() const noexcept { return n_words_ != 0; }
  [[nodiscard]] bool is_reached() const noexcept { return registration_.is_open(); }
  // For commands of streams.
  [[nodiscard]] std::uint64_t *at(std::size_t index) const noexcept {
    return static_cast<std::uint64_t *>(segment_->data()) + index;
  }
  // The first of the bytes behind the words, on a page of its own.
  [[nodiscard]] std::byte *behind() const noexcept {
    return static_cast<std::byte *>(segment_->data()) + whole_pages(n_words_ * sizeof(std::uint64_t));
  }
  [[nodiscard]] std::size_t n_bytes_behind() const noexcept { return n_bytes_behind_; }
  // What precedes the value for whoever wrote it is visible; and the other way. Hot.
  [[nodiscard]] std::uint64_t get(std::size_t index) const noexcept {
    return __atomic_load_n(at(index), __ATOMIC_ACQUIRE);
  }
  void set(std::size_t index, std::uint64_t value) const noexcept {
    __atomic_store_n(at(index), value, __ATOMIC_RELEASE);
  }

 private:
  // As host_register has it.
  [[nodiscard]] static std::size_t whole_pages(std::size_t size_bytes) noexcept;
  [[nodiscard]] static std::size_t bytes_of(std::size_t n_words, std::size_t n_bytes_behind) noexcept {
    return whole_pages(n_words * sizeof(std::uint64_t)) + whole_pages(n_bytes_behind);
  }

  std::shared_ptr<wire::SharedSegment> segment_;  // the registration's, too
  std::size_t n_words_ = 0;
  std::size_t n_bytes_behind_ = 0;
  device::HostRegistration registration_;
};

}  // namespace sluice::ops::queue
