// SPDX-License-Identifier: BSD-3-Clause
// Attempts: how often the ranks of a communicator ask each other whether they can do better than each for itself.
#pragma once

#include <cstdint>

namespace sluice::ops::coll {

// After calls in which they could not they leave some out, more each time: a program whose buffers are all on the host
// pays for few. Counts calls that are the same on all ranks, so that all come to the same.
class Attempts {
 public:
  [[nodiscard]] bool is_due() noexcept {
    if (n_left_out_ == 0) return true;
    --n_left_out_;
    return false;
  }
  void note_good() noexcept { n_to_leave_out_ = 0; }
  void note_vain() noexcept {
    n_left_out_ = n_to_leave_out_;
    n_to_leave_out_ = n_to_leave_out_ >= kMostLeftOut ? kMostLeftOut : n_to_leave_out_ * 2 + 1;
  }

 private:
  static constexpr std::uint32_t kMostLeftOut = 63;

  std::uint32_t n_left_out_ = 0;
  std::uint32_t n_to_leave_out_ = 0;
};

}  // namespace sluice::ops::coll
