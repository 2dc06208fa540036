// SPDX-License-Identifier: BSD-3-Clause
// make_recycled(): std::make_shared() for objects of which each message has one. What one leaves is given to the next
// of its type: for more than a kilobyte the C library's allocator searches each time, which is as much work as the rest
// of such an object's making.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/short_mutex.hpp"

namespace sluice {

// Blocks of one size that wait for their next use. Any thread. Never destroyed: objects may end while the process
// exits.
class RecycledBlocks {
 public:
  static constexpr std::size_t kMost = 128;  // a window's, about; what is more goes back to the C library

  explicit RecycledBlocks(std::size_t size_bytes) noexcept : size_bytes_(size_bytes) {}
  // Throws std::bad_alloc.
  [[nodiscard]] void *take() {
    {
      const std::scoped_lock lock(mutex_);
      if (n_kept_ != 0) return kept_[--n_kept_];
    }
    return ::operator new(size_bytes_);
  }
  void give(void *block) noexcept {
    {
      const std::scoped_lock lock(mutex_);
      if (n_kept_ != kMost) {
        kept_[n_kept_++] = block;
        return;
      }
    }
    ::operator delete(block, size_bytes_);
  }

 private:
  const std::size_t size_bytes_;
  ShortMutex mutex_;
  std::size_t n_kept_ = 0;
  std::array<void *, kMost> kept_{};
};

// What std::allocate_shared() wants. With a sanitizer nothing is kept: it is to see what is used when it is gone.
template <class T>
class RecycledAllocator {
 public:
  using value_type = T;
  RecycledAllocator() noexcept = default;
  template <class Other>
  RecycledAllocator(const RecycledAllocator<Other> & /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static T *allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  static void deallocate(T *memory, std::size_t n) noexcept { std::allocator<T>().deallocate(memory, n); }
#else
  static T *allocate(std::size_t n) {
    return n == 1 ? static_cast<T *>(blocks().take()) : std::allocator<T>().allocate(n);
  }
  static void deallocate(T *memory, std::size_t n) noexcept {
    n == 1 ? blocks().give(memory) : std::allocator<T>().deallocate(memory, n);
  }
#endif

  template <class Other>
  bool operator==(const RecycledAllocator<Other> & /*other*/) const noexcept {
    return true;
  }

 private:
  static RecycledBlocks &blocks() {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    static auto *const made = new RecycledBlocks(sizeof(T));
    return *made;
  }
};

// As std::make_shared(). Any thread. Throws std::bad_alloc, and what the constructor throws.
template <class T, class... Arguments>
[[nodiscard]] std::shared_ptr<T> make_recycled(Arguments &&...arguments) {
  return std::allocate_shared<T>(RecycledAllocator<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace sluice
