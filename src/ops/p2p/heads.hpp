// SPDX-License-Identifier: BSD-3-Clause
// Heads: the beginnings of host buffers into which a descriptor may come to lie. Programs that measure post a window of
// receives into one and the same buffer; a descriptor that came into one of them would be overwritten by what comes
// into the next, before anybody has read it. Where that could be, all receives but one get room of their own,
// and leave the beginning of the buffer alone while that one waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace sluice::ops {

// One beginning, claimed until destroyed, and open while its receive waits for what comes. Movable.
class HeadClaim {
 public:
  HeadClaim() noexcept = default;
  HeadClaim(HeadClaim &&other) noexcept : address_(std::exchange(other.address_, 0)) {}
  HeadClaim &operator=(HeadClaim &&other) noexcept {
    if (this != &other) {
      release();
      address_ = std::exchange(other.address_, 0);
    }
    return *this;
  }
  HeadClaim(const HeadClaim &) = delete;
  HeadClaim &operator=(const HeadClaim &) = delete;
  ~HeadClaim() { release(); }

  [[nodiscard]] bool is_empty() const noexcept { return address_ == 0; }
  void set_open(bool is_open) noexcept;
  void release() noexcept;

 private:
  friend class Heads;
  std::uintptr_t address_ = 0;
};

class Heads {
 public:
  // The process's. Never destroyed.
  static Heads &process();

  // Claims the descriptor's length from `buffer` on. An empty claim when that meets one that is held. Any thread.
  [[nodiscard]] HeadClaim claim(const void *buffer);
  // A claim that meets the beginning of `buffer` is open. Any thread.
  [[nodiscard]] bool is_open(const void *buffer);

 private:
  friend class HeadClaim;
  struct Held {
    std::uintptr_t address;
    bool is_open;
  };
  [[nodiscard]] const Held *find_locked(std::uintptr_t address) const noexcept;
  void set_open(std::uintptr_t address, bool is_open) noexcept;
  void release(std::uintptr_t address) noexcept;

  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, Held> held_;  // at most one in each stretch of a descriptor's length
};

}  // namespace sluice::ops
