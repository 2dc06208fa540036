// SPDX-License-Identifier: BSD-3-Clause
// Call: the arguments of a one-sided operation by their meaning, whatever its form.
#pragma once

#include "base/types.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::rma {

// A buffer of this rank's, or the part of the window that is meant (without an address). One thread at a time.
struct Argument {
  void *buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;

  void set_buffer(const void *address) noexcept {
    // What is only read stays as it is; one pointer serves both directions.
    buffer = const_cast<void *>(address);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
};

struct Call {
  Operation operation{};
  Argument origin;
  Argument result;   // of operations that fetch
  Argument compare;  // of MPI_Compare_and_swap
  Argument target;
  int target_rank = MPI_PROC_NULL;
  MPI_Aint target_disp = 0;
  MPI_Op op = MPI_OP_NULL;         // null: none was given
  MPI_Request *request = nullptr;  // of the forms that give one
  // Hands a call of this form on to the host MPI; set for its windows only. Returns its error code.
  int (*by_host)(const Call &call, MPI_Win window) = nullptr;
};

}  // namespace sluice::ops::rma
