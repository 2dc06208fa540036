// SPDX-License-Identifier: BSD-3-Clause
// Attempts: how often the ranks of a communicator ask each other whether they can do better than each for itself.
// Wishes: when they make what non-blocking calls need for that, which cannot wait for it.
#pragma once

#include <cstdint>

namespace sluice::ops::coll {

// Calls of which all ranks know that they are as long as this are counted apart from all others: a program that counts
// and times with short calls on host memory would have its first long ones on devices staged for them. (Looked at each
// time, long ones on host memory took 3 % longer, and up to twice as long with more ranks than cores.)
inline constexpr std::uint64_t kLongCallBytes = std::uint64_t{256} << 10;

// After calls in which they could not they leave some out, more each time: a program whose buffers are all on the host
// pays for few. Not so soon where they could before: a program may have host memory in many calls of each of its steps,
// and device memory in one. Counts calls that are the same on all ranks, so that all come to the same.
class Attempts {
 public:
  [[nodiscard]] bool is_due() noexcept {
    if (n_left_out_ == 0) return true;
    --n_left_out_;
    return false;
  }
  void note_good() noexcept {
    n_left_out_ = 0;
    n_to_leave_out_ = 0;
    n_borne_ = kMostBorne;
  }
  void note_vain() noexcept {
    if (n_borne_ != 0) {
      --n_borne_;
      return;
    }
    n_left_out_ = n_to_leave_out_;
    n_to_leave_out_ = n_to_leave_out_ >= kMostLeftOut ? kMostLeftOut : n_to_leave_out_ * 2 + 1;
  }

 private:
  static constexpr std::uint32_t kMostLeftOut = 63;
  static constexpr std::uint32_t kMostBorne = 64;

  std::uint32_t n_borne_ = 0;  // vain ones that change nothing
  std::uint32_t n_left_out_ = 0;
  std::uint32_t n_to_leave_out_ = 0;
};

// Counts non-blocking calls that are the same on all ranks, so that all come to the same; in the next blocking call
// they agree whether any rank has a use for it.
class Wishes {
 public:
  // `is_own`: this rank has a use for it.
  void note(bool is_own) noexcept {
    ++n_calls_;
    is_own_ |= is_own;
  }
  // After the first call, and then after many.
  [[nodiscard]] bool are_due() const noexcept {
    return n_calls_ != 0 && (!has_been_settled_ || n_calls_ >= kCallsBetween);
  }
  // Of the calls since the ranks agreed last.
  [[nodiscard]] bool is_own() const noexcept { return is_own_; }
  void note_settled() noexcept {
    n_calls_ = 0;
    is_own_ = false;
    has_been_settled_ = true;
  }

 private:
  static constexpr std::uint32_t kCallsBetween = 64;

  std::uint32_t n_calls_ = 0;
  bool is_own_ = false;
  bool has_been_settled_ = false;
};

}  // namespace sluice::ops::coll
