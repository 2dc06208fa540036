// SPDX-License-Identifier: BSD-3-Clause
// The synchronisation around accesses.
#include "bench/rma/epoch_calls.hpp"

#include <cstdio>

#include "bench/mpi/world.hpp"
#include "bench/rma/one_sided.hpp"

namespace sluice::bench {

EpochCalls::EpochCalls(Epoch epoch, MPI_Win window, int rank)
    : epoch_(epoch), window_(window), is_origin_(rank == kOrigin) {
  MPI_Group all = MPI_GROUP_NULL;
  check_mpi(MPI_Win_get_group(window, &all), "MPI_Win_get_group");
  const int other = is_origin_ ? kTarget : kOrigin;
  check_mpi(MPI_Group_incl(all, 1, &other, &other_), "MPI_Group_incl");
  check_mpi(MPI_Group_free(&all), "MPI_Group_free");
}

EpochCalls::~EpochCalls() {
  if (MPI_Group_free(&other_) != MPI_SUCCESS) {
    std::fprintf(stderr, "sluice-bench: MPI_Group_free failed\n");
  }
}

void EpochCalls::open() const {
  if (is_origin_ && is_in_one_lock()) {
    check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, kTarget, 0, window_), "MPI_Win_lock");
  } else if (is_origin_ && is_in_one_lock_all()) {
    check_mpi(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
  }
}

void EpochCalls::begin() const {
  if (epoch_ == Epoch::fence) {
    check_mpi(MPI_Win_fence(MPI_MODE_NOPRECEDE, window_), "MPI_Win_fence");
  } else if (epoch_ == Epoch::pscw && !is_origin_) {
    check_mpi(MPI_Win_post(other_, 0, window_), "MPI_Win_post");
  } else if (epoch_ == Epoch::pscw) {
    check_mpi(MPI_Win_start(other_, 0, window_), "MPI_Win_start");
  } else if (epoch_ == Epoch::lock && is_origin_) {
    check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, kTarget, 0, window_), "MPI_Win_lock");
  } else if (epoch_ == Epoch::lock_all && is_origin_) {
    check_mpi(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
  }
}

void EpochCalls::end() const {
  if (epoch_ == Epoch::fence) {
    // Nothing follows in this epoch: the target may look at its memory under a lock afterwards.
    check_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, window_), "MPI_Win_fence");
  } else if (epoch_ == Epoch::pscw && !is_origin_) {
    check_mpi(MPI_Win_wait(window_), "MPI_Win_wait");
  } else if (epoch_ == Epoch::pscw) {
    check_mpi(MPI_Win_complete(window_), "MPI_Win_complete");
  } else if (is_origin_) {
    end_at_origin();
  }
}

// Of synchronisations in which the target has no part.
void EpochCalls::end_at_origin() const {
  switch (epoch_) {
    case Epoch::lock:
      return check_mpi(MPI_Win_unlock(kTarget, window_), "MPI_Win_unlock");
    case Epoch::lock_all:
      return check_mpi(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
    case Epoch::flush:
      return check_mpi(MPI_Win_flush(kTarget, window_), "MPI_Win_flush");
    case Epoch::flush_local:
      return check_mpi(MPI_Win_flush_local(kTarget, window_), "MPI_Win_flush_local");
    case Epoch::flush_all:
      return check_mpi(MPI_Win_flush_all(window_), "MPI_Win_flush_all");
    case Epoch::flush_local_all:
      return check_mpi(MPI_Win_flush_local_all(window_), "MPI_Win_flush_local_all");
    default:  // request: done when the requests are
      return;
  }
}

void EpochCalls::close() const {
  if (is_origin_ && is_in_one_lock()) {
    check_mpi(MPI_Win_unlock(kTarget, window_), "MPI_Win_unlock");
  } else if (is_origin_ && is_in_one_lock_all()) {
    check_mpi(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  }
}

}  // namespace sluice::bench
