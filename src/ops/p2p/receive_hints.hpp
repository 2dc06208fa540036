// SPDX-License-Identifier: BSD-3-Clause
// ReceiveHints: how the last long message came that a receive of device memory took. The plan of the next receive goes
// by it (plan::room_of()).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::ops {

// Threads: any.
class ReceiveHints {
 public:
  // The process's. Never destroyed.
  static ReceiveHints &process() {
    static auto *const hints = new ReceiveHints();
    return *hints;
  }

  // Whether the next long message into a receive from `source`, which may be MPI_ANY_SOURCE, likely comes staged. By
  // the source as the receive names it; several may have one answer. Hot: one load.
  [[nodiscard]] bool expects_staged(int source) const noexcept {
    return come_staged_[slot_of(source)].load(std::memory_order_relaxed);
  }
  void note(int source, bool is_staged) noexcept {
    std::atomic<bool> &comes_staged = come_staged_[slot_of(source)];
    if (comes_staged.load(std::memory_order_relaxed) != is_staged)
      comes_staged.store(is_staged, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kSlots = 64;
  static std::size_t slot_of(int source) noexcept { return static_cast<unsigned>(source) % kSlots; }
  std::array<std::atomic<bool>, kSlots> come_staged_{};
};

}  // namespace sluice::ops
