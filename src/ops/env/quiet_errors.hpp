// SPDX-License-Identifier: BSD-3-Clause
// Calls of ours that may fail without the program hearing of it. Threads: any; what is seen is of the thread that asks.
#pragma once

#include "wire/mpi.hpp"

namespace sluice::ops {

// From now on errors on `comm`, which is one of ours, go nowhere but to is_error_seen(). False where that cannot be.
[[nodiscard]] bool make_quiet(MPI_Comm comm);

// Whether an error has gone there in this thread since forget_error(). Two host MPIs with the MPI-5 binary interface
// make it necessary to ask: Intel MPI 2021.18 ends the program for an error under MPI_ERRORS_RETURN, and MPICH 5.0
// returns MPI_SUCCESS from a call whose error went to a handler.
[[nodiscard]] bool is_error_seen() noexcept;
void forget_error() noexcept;

// While it lives, an error on `comm`, the program's, neither ends the program nor reaches its handler. For a call that
// this thread makes on it alone; what other threads do wrong meanwhile passes unseen.
class QuietErrors {
 public:
  explicit QuietErrors(MPI_Comm comm);
  ~QuietErrors();
  QuietErrors(const QuietErrors &) = delete;
  QuietErrors &operator=(const QuietErrors &) = delete;
  QuietErrors(QuietErrors &&) = delete;
  QuietErrors &operator=(QuietErrors &&) = delete;

  // What the calls since came to; `code` is the last one's.
  [[nodiscard]] static bool is_success(int code) noexcept { return code == MPI_SUCCESS && !is_error_seen(); }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace sluice::ops
