// SPDX-License-Identifier: BSD-3-Clause
// Attempts: how often the ranks of a communicator ask each other whether they can do better than each for itself.
// DeferredAgreement: when they make what non-blocking calls need for that, which cannot wait for it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::ops {

// Calls of which all ranks know how long they are are counted apart from those of another length, within a factor of
// four: a program that counts, times or reduces a scalar on host memory in each step would have its calls on devices
// staged for them. (Looked at each time, long ones on host memory took 3 % longer, and up to twice as long with more
// ranks than cores.)
inline constexpr std::size_t kLengthClasses = 11;
// The class of a call of that length. Pure.
[[nodiscard]] constexpr std::size_t length_class(std::uint64_t size_bytes) noexcept {
  return std::min(static_cast<std::size_t>(std::bit_width(size_bytes)) / 2, kLengthClasses - 1);
}

// After calls in which they could not they leave some out, more each time: a program whose buffers are all on the host
// pays for few. Not so soon where they could before: a program may have host memory in many calls of each of its steps,
// and device memory in one. Counts calls that are the same on all ranks, so that all come to the same. One thread at a
// time.
class Attempts {
 public:
  // Whether the ranks look at this call together. Once for each call: it counts those that are left out.
  [[nodiscard]] bool is_due() noexcept {
    if (n_left_out_ == 0) return true;
    --n_left_out_;
    return false;
  }
  // How it came out when they looked: they could do better, or not.
  void note_good() noexcept {
    n_left_out_ = 0;
    n_vain_ = 0;
    n_borne_ = kMostBorne;
  }
  void note_vain() noexcept {
    if (n_borne_ != 0) {
      --n_borne_;
      return;
    }
    n_left_out_ = kLeftOut[n_vain_];
    if (n_vain_ + 1 < kLeftOut.size()) ++n_vain_;
  }

 private:
  // From one call that is looked at to the next it is a prime number of calls. With 64, a program that has one call on
  // host memory and one on devices in turns would have the first kind looked at each time, and the second never.
  static constexpr std::array<std::uint32_t, 6> kLeftOut = {0, 2, 6, 12, 30, 66};
  static constexpr std::uint32_t kMostBorne = 64;

  std::uint32_t n_borne_ = 0;  // vain ones that change nothing
  std::uint32_t n_left_out_ = 0;
  std::uint32_t n_vain_ = 0;  // of those that changed something, as far as kLeftOut goes
};

// Counts non-blocking calls that are the same on all ranks, so that all come to the same; in the next blocking call
// they agree whether any rank has a use for it. One thread at a time.
class DeferredAgreement {
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

}  // namespace sluice::ops
