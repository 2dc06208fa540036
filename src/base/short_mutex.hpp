// SPDX-License-Identifier: BSD-3-Clause
// ShortMutex: a mutex for tables that every message passes, of which it passes ten on its way. The C library's takes 57
// instructions each time that nobody else wants it; this one two.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

// Of the standard library's kind (Lockable, for std::scoped_lock and std::unique_lock). Not recursive, not fair. Who
// finds it taken sleeps until it is free, so that more threads than cores lose nothing. Any thread.
// After U. Drepper, Futexes Are Tricky, section 5 (the three states of a word).
class ShortMutex {
 public:
  // As a std::mutex has them; try_lock() never waits.
  void lock() noexcept {
    if (!try_lock()) wait_for_it();
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) state_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kWaitedFor = 2;

  // Whoever has slept leaves kWaitedFor behind: others may sleep still.
  void wait_for_it() noexcept {
    while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
      state_.wait(kWaitedFor, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace sluice
