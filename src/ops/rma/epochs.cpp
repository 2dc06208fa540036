// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/epochs.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::ops::rma {
namespace {

Status wrong(const char *what) {
  return Status::error(ErrorKind::kBadEpoch, std::string("wrong synchronisation of a window: ") + what);
}

}  // namespace

Status Epochs::note_access(int rank) {
  if (is_passive()) {
    if (has_all_ || locks_.contains(rank)) return {};
    return wrong("the target is not locked; call MPI_Win_lock or MPI_Win_lock_all before");
  }
  if (is_started_) {
    if (std::find(started_.begin(), started_.end(), rank) != started_.end()) return {};
    return wrong("the target is not in the group of MPI_Win_start; start with a group that has it");
  }
  if (!is_fenced_) return wrong("no epoch is open; call MPI_Win_fence, MPI_Win_start or MPI_Win_lock before");
  has_accessed_ = true;
  return {};
}

// The other ways to synchronise may follow a fence behind which nothing was accessed.
Status Epochs::may_leave_fence() const {
  if (is_fenced_ && has_accessed_)
    return wrong("accesses since the last MPI_Win_fence are to be ended by a fence; call MPI_Win_fence first");
  return {};
}

Status Epochs::fence(bool opens) {
  if (is_passive()) return wrong("MPI_Win_fence while a target is locked; unlock it first");
  if (is_started_ || is_posted_) {
    return wrong(
        "MPI_Win_fence within an epoch of MPI_Win_start or MPI_Win_post; end it first (MPI_Win_complete, "
        "MPI_Win_wait)");
  }
  is_fenced_ = opens;
  has_accessed_ = false;
  return {};
}

Status Epochs::start(std::vector<int> ranks) {
  if (is_passive() || is_started_) return wrong("MPI_Win_start within another access epoch; end that first");
  if (Status status = may_leave_fence(); !status.is_ok()) return status;
  is_fenced_ = false;
  is_started_ = true;
  started_ = std::move(ranks);
  return {};
}

Status Epochs::complete(std::vector<int> *ranks) {
  if (!is_started_) return wrong("MPI_Win_complete without MPI_Win_start; call MPI_Win_start before");
  is_started_ = false;
  *ranks = std::move(started_);
  return {};
}

Status Epochs::post(std::vector<int> ranks) {
  if (is_posted_) return wrong("MPI_Win_post within another exposure epoch; end that first (MPI_Win_wait)");
  if (Status status = may_leave_fence(); !status.is_ok()) return status;
  is_fenced_ = false;
  is_posted_ = true;
  posted_ = std::move(ranks);
  return {};
}

Status Epochs::find_posted(std::vector<int> *ranks) const {
  if (!is_posted_) return wrong("MPI_Win_wait or MPI_Win_test without MPI_Win_post; call MPI_Win_post before");
  *ranks = posted_;
  return {};
}

Status Epochs::lock(int rank, Lock lock) {
  if (has_all_ || locks_.contains(rank)) return wrong("MPI_Win_lock of a target that is locked; unlock it first");
  if (is_started_) return wrong("MPI_Win_lock within an epoch of MPI_Win_start; call MPI_Win_complete first");
  if (Status status = may_leave_fence(); !status.is_ok()) return status;
  is_fenced_ = false;
  locks_.emplace(rank, lock);
  return {};
}

Status Epochs::unlock(int rank, Lock *lock) {
  const auto found = locks_.find(rank);
  if (found == locks_.end()) return wrong("MPI_Win_unlock of a target that is not locked; call MPI_Win_lock before");
  *lock = found->second;
  locks_.erase(found);
  return {};
}

Status Epochs::lock_all(bool is_held) {
  if (is_passive() || is_started_) return wrong("MPI_Win_lock_all within another access epoch; end that first");
  if (Status status = may_leave_fence(); !status.is_ok()) return status;
  is_fenced_ = false;
  has_all_ = true;
  is_all_held_ = is_held;
  return {};
}

Status Epochs::unlock_all(bool *is_held) {
  if (!has_all_) return wrong("MPI_Win_unlock_all without MPI_Win_lock_all; call MPI_Win_lock_all before");
  has_all_ = false;
  *is_held = is_all_held_;
  return {};
}

Status Epochs::flush(int rank) const {
  if (has_all_ || (rank < 0 ? !locks_.empty() : locks_.contains(rank))) return {};
  return wrong("a flush outside of an epoch of MPI_Win_lock or MPI_Win_lock_all; lock the target before");
}

Status Epochs::may_free() const {
  if (is_passive() || is_started_ || is_posted_) return wrong("MPI_Win_free within an epoch; end it first");
  return {};
}

}  // namespace sluice::ops::rma
