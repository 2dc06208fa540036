// SPDX-License-Identifier: BSD-3-Clause
// ReceiveHints: how the last long message came that a receive of device memory took. Where a receiver expects what it
// pulls, its receives are posted in address space (device/untouched_memory.hpp) and take no staging memory; where it
// expects plain messages, in staging memory, which a device reaches faster.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::ops {

class ReceiveHints {
 public:
  // Shorter receives take staging memory: of them many are needed before it matters.
  static constexpr std::uint64_t kShortestBytes = 64 << 10;

  // The process's. Never destroyed.
  static ReceiveHints &process() {
    static auto *const hints = new ReceiveHints();
    return *hints;
  }

  // Whether the next long message into a receive from `source`, which may be MPI_ANY_SOURCE, is likely a plain one. By
  // the source as the receive names it; several may have one answer. Any thread; hot: one load.
  [[nodiscard]] bool expects_plain(int source) const noexcept {
    return come_plain_[slot_of(source)].load(std::memory_order_relaxed);
  }
  void note(int source, bool is_plain) noexcept {
    std::atomic<bool> &comes_plain = come_plain_[slot_of(source)];
    if (comes_plain.load(std::memory_order_relaxed) != is_plain) comes_plain.store(is_plain, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kSlots = 64;
  static std::size_t slot_of(int source) noexcept { return static_cast<unsigned>(source) % kSlots; }
  std::array<std::atomic<bool>, kSlots> come_plain_{};
};

}  // namespace sluice::ops
