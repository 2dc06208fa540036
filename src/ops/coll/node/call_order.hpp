// SPDX-License-Identifier: BSD-3-Clause
// CallOrder: non-blocking and persistent calls of a communicator in the order in which the program made them, which is
// the same on all ranks. What they do together has to be in that order, too, whichever way a call came and however late
// this rank learned what becomes of it: their places in the group's queue, and what goes over a communicator that they
// share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/short_mutex.hpp"

namespace sluice::ops::coll {

// A call joins, is placed when it is known which way it goes (it has its number in the group's queue, or is staged),
// and leaves when it will do nothing more that the others have to come after. Any thread. Throws std::bad_alloc.
class CallOrder {
 public:
  // One more call. Returns its place, which is never 0.
  [[nodiscard]] std::uint64_t join() {
    const std::scoped_lock lock(mutex_);
    calls_.push_back({++n_joined_, false});
    return n_joined_;
  }
  // All before it are placed, or have left.
  [[nodiscard]] bool may_be_placed(std::uint64_t place) const noexcept {
    const std::scoped_lock lock(mutex_);
    return std::all_of(calls_.begin(), calls_.end(),
                       [place](const Joined &call) { return call.place >= place || call.is_placed; });
  }
  void set_placed(std::uint64_t place) noexcept {
    const std::scoped_lock lock(mutex_);
    if (const auto found = find(place); found != calls_.end()) found->is_placed = true;
  }
  [[nodiscard]] bool are_all_placed() const noexcept {
    const std::scoped_lock lock(mutex_);
    return std::all_of(calls_.begin(), calls_.end(), [](const Joined &call) { return call.is_placed; });
  }
  // All before it have left.
  [[nodiscard]] bool is_turn(std::uint64_t place) const noexcept {
    const std::scoped_lock lock(mutex_);
    return !calls_.empty() && calls_.front().place == place;
  }
  // Nothing for one that has left, or for 0.
  void leave(std::uint64_t place) noexcept {
    const std::scoped_lock lock(mutex_);
    if (const auto found = find(place); found != calls_.end()) calls_.erase(found);
  }

 private:
  struct Joined {
    std::uint64_t place;
    bool is_placed;
  };
  using Calls = std::deque<Joined>;
  // With the lock.
  [[nodiscard]] Calls::iterator find(std::uint64_t place) noexcept {
    return std::find_if(calls_.begin(), calls_.end(), [place](const Joined &call) { return call.place == place; });
  }

  mutable ShortMutex mutex_;
  Calls calls_;  // those that have not left
  std::uint64_t n_joined_ = 0;
};

using CallOrderPtr = std::shared_ptr<CallOrder>;

}  // namespace sluice::ops::coll
