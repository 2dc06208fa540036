// SPDX-License-Identifier: BSD-3-Clause
// UntouchedMemory: address space of which only what is written takes memory. A receive is posted there whose message
// most likely is not written there, but for a few bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/status.hpp"

namespace sluice::device {

// One range, held until destroyed, and then kept for the next without the memory that it took. Movable. May be
// destroyed by another thread.
class UntouchedMemory {
 public:
  // A range of at least `size_bytes` (> 0), aligned to a page; what is in it means nothing. Hot when one is kept: a
  // lock, no system call. Any thread. Errors: kOutOfMemory, where the system has no address space left for it, or no
  // range is so long; *memory is empty then.
  [[nodiscard]] static Status acquire(std::size_t size_bytes, UntouchedMemory *memory);

  UntouchedMemory() noexcept = default;
  UntouchedMemory(UntouchedMemory &&other) noexcept { swap(&other); }
  UntouchedMemory &operator=(UntouchedMemory &&other) noexcept {
    UntouchedMemory taken(std::move(other));
    swap(&taken);
    return *this;
  }
  UntouchedMemory(const UntouchedMemory &) = delete;
  UntouchedMemory &operator=(const UntouchedMemory &) = delete;
  ~UntouchedMemory();

  // First byte; null for an empty one.
  [[nodiscard]] std::byte *data() const noexcept { return data_; }
  [[nodiscard]] bool is_empty() const noexcept { return data_ == nullptr; }

  // Nothing has been written behind the first `size_bytes`. Without such a word all of it may have been, and the system
  // is asked to take it back when the range is.
  void note_written(std::size_t size_bytes) noexcept {
    written_bytes_ = is_noted_ ? std::max(written_bytes_, size_bytes) : size_bytes;
    is_noted_ = true;
  }

 private:
  void swap(UntouchedMemory *other) noexcept;

  std::byte *data_ = nullptr;
  unsigned size_class_ = 0;
  bool is_noted_ = false;
  std::size_t written_bytes_ = 0;
};

}  // namespace sluice::device
