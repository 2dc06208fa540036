// SPDX-License-Identifier: BSD-3-Clause
// Epochs: which accesses to a window MPI allows now, and what of its synchronisation is under way.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/status.hpp"

namespace sluice::ops::rma {

// One thread at a time. Ranks are those of the window, and exist. Errors of all: kBadEpoch, where MPI does not allow it
// now; nothing has changed then.
class Epochs {
 public:
  enum class Lock : std::uint8_t { kNone, kShared, kAlone };

  // An operation on the memory of `rank`.
  [[nodiscard]] Status note_access(int rank);

  // `opens`: accesses may follow.
  [[nodiscard]] Status fence(bool opens);
  [[nodiscard]] Status start(std::vector<int> ranks);
  [[nodiscard]] Status complete(std::vector<int> *ranks);
  [[nodiscard]] Status post(std::vector<int> ranks);
  // Those who access this rank's memory now.
  [[nodiscard]] Status find_posted(std::vector<int> *ranks) const;
  void end_post() noexcept { is_posted_ = false; }

  // Epochs of locks.
  [[nodiscard]] Status lock(int rank, Lock lock);
  // *lock: how it was held; kNone: it was only promised to be free.
  [[nodiscard]] Status unlock(int rank, Lock *lock);
  // `is_held`: the locks are taken, and not only promised to be free.
  [[nodiscard]] Status lock_all(bool is_held);
  [[nodiscard]] Status unlock_all(bool *is_held);
  // A flush: within a passive epoch; `rank`: of one target, or -1.
  [[nodiscard]] Status flush(int rank) const;
  // Nothing is under way that freeing the window would cut off.
  [[nodiscard]] Status may_free() const;

 private:
  [[nodiscard]] bool is_passive() const noexcept { return has_all_ || !locks_.empty(); }
  [[nodiscard]] Status may_leave_fence() const;

  bool is_fenced_ = false;     // between two fences
  bool has_accessed_ = false;  // since the last fence
  bool is_started_ = false;
  bool is_posted_ = false;
  bool has_all_ = false;
  bool is_all_held_ = false;
  std::vector<int> started_;
  std::vector<int> posted_;
  std::map<int, Lock> locks_;
};

}  // namespace sluice::ops::rma
