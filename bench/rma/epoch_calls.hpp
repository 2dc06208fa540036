// SPDX-License-Identifier: BSD-3-Clause
// The synchronisation around accesses, on both ranks.
#pragma once

#include <mpi.h>

#include "bench/cli/family_options.hpp"

namespace sluice::bench {

// Between open() and close() any number of begin() and end(), with accesses between them on the origin. Both ranks call
// all four; what is not needed on one does nothing there. With Epoch::request the caller waits for the requests before
// end(). Functions throw MpiError.
class EpochCalls {
 public:
  // window outlives this.
  EpochCalls(Epoch epoch, MPI_Win window, int rank);
  EpochCalls(const EpochCalls &) = delete;
  EpochCalls &operator=(const EpochCalls &) = delete;
  ~EpochCalls();

  void open() const;
  void begin() const;
  void end() const;
  void close() const;

 private:
  // Iterations within one lock: of the target, or of all ranks.
  bool is_in_one_lock() const {
    return epoch_ == Epoch::flush || epoch_ == Epoch::flush_local || epoch_ == Epoch::request;
  }
  bool is_in_one_lock_all() const { return epoch_ == Epoch::flush_all || epoch_ == Epoch::flush_local_all; }
  void end_at_origin() const;

  Epoch epoch_;
  MPI_Win window_;
  bool is_origin_;
  MPI_Group other_ = MPI_GROUP_NULL;
};

}  // namespace sluice::bench
