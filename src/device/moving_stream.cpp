// SPDX-License-Identifier: BSD-3-Clause
#include "device/moving_stream.hpp"

#include <chrono>
#include <thread>

namespace sluice::device {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{200};
constexpr std::chrono::milliseconds kLittlePatience{1};
constexpr unsigned kMostInVain = 4;

// Looks this often before the thread gives its core away between two looks.
constexpr unsigned kLooks = 1000;

}  // namespace

void MovingStream::await(std::uint64_t least) {
  std::uint64_t seen = triggered_();
  if (seen >= least || seen == given_up_at_) return;
  const std::chrono::milliseconds patience = n_in_vain_ < kMostInVain ? kPatience : kLittlePatience;
  Clock::time_point since = Clock::now();
  for (unsigned n_looks = 0;; ++n_looks) {
    if (n_looks >= kLooks) std::this_thread::yield();
    const std::uint64_t now_at = triggered_();
    if (now_at >= least) {
      n_in_vain_ = 0;
      return;
    }
    const Clock::time_point time = Clock::now();
    if (now_at != seen) {
      seen = now_at;
      since = time;
    } else if (time - since > patience) {
      given_up_at_ = seen;
      ++n_in_vain_;
      return;
    }
  }
}

}  // namespace sluice::device
