// SPDX-License-Identifier: BSD-3-Clause
// The synchronisation around accesses, on both ranks.
#pragma once

#include <mpi.h>

#include "bench/cli/family_options.hpp"

namespace sluice::bench {

// Between open() and close() any number of begin() and end(), with accesses between them on the origin. Both ranks call
// all four; what is not needed on one does nothing there. Functions throw MpiError.
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
  bool is_flushed() const { return epoch_ == Epoch::flush || epoch_ == Epoch::flush_local; }

  Epoch epoch_;
  MPI_Win window_;
  bool is_origin_;
  MPI_Group other_ = MPI_GROUP_NULL;
};

}  // namespace sluice::bench
