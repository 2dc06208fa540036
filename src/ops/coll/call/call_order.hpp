// SPDX-License-Identifier: BSD-3-Clause
// CallOrder: non-blocking and persistent calls of a communicator in the order in which the program made them, which is
// the same on all ranks. What they do together has to be in that order, too, whichever way a call came and however late
// this rank learned what becomes of it: their places in a group's queue, and what goes over a communicator that they
// share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "base/short_mutex.hpp"

namespace sluice::ops::coll {

// A call, named by an address, joins once for each start. It is placed when it is known which way it goes (it has its
// number in the group's queue, or is staged), for those whom that concerns, and leaves when it will do nothing more
// that the others have to come after. Any thread. Throws std::bad_alloc.
class CallOrder {
 public:
  // Behind all that have joined.
  void join(const void *call) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back({call, false});
  }
  // All before it are placed, or have left.
  [[nodiscard]] bool may_be_placed(const void *call) const noexcept {
    const std::scoped_lock lock(mutex_);
    return std::all_of(calls_.begin(), find(call), is_placed);
  }
  void set_placed(const void *call) noexcept {
    const std::scoped_lock lock(mutex_);
    if (const auto found = find(call); found != calls_.end())
      calls_[static_cast<std::size_t>(found - calls_.begin())].is_placed = true;
  }
  [[nodiscard]] bool are_all_placed() const noexcept {
    const std::scoped_lock lock(mutex_);
    return std::all_of(calls_.begin(), calls_.end(), is_placed);
  }
  // All before it have left.
  [[nodiscard]] bool is_turn(const void *call) const noexcept {
    const std::scoped_lock lock(mutex_);
    return !calls_.empty() && calls_.front().call == call;
  }
  // Any more often than once does nothing.
  void leave(const void *call) noexcept {
    const std::scoped_lock lock(mutex_);
    if (const auto found = find(call); found != calls_.end()) calls_.erase(found);
  }

 private:
  struct Joined {
    const void *call;
    bool is_placed;
  };
  using Calls = std::deque<Joined>;
  [[nodiscard]] static bool is_placed(const Joined &joined) noexcept { return joined.is_placed; }
  // With the lock.
  [[nodiscard]] Calls::const_iterator find(const void *call) const noexcept {
    return std::find_if(calls_.begin(), calls_.end(), [call](const Joined &joined) { return joined.call == call; });
  }

  mutable ShortMutex mutex_;
  Calls calls_;  // those that have not left
};

using CallOrderPtr = std::shared_ptr<CallOrder>;

}  // namespace sluice::ops::coll
