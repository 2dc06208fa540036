// SPDX-License-Identifier: BSD-3-Clause
// What an MPI type and operation are to a device.
#pragma once

#include "sluice/backend.h"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

struct ReductionPair {
  sluice_element_t element;
  sluice_operation_t operation;
};

// False for derived types, operations of the program, types without an element (long double, Fortran's numbers of 16
// bytes), and pairs that the host MPI refuses, or computes otherwise than the kernels: these are for the host MPI
// (data/staged_reductions.txt). It is asked about a pair once, whatever MPI defines. Warm: a walk over the predefined
// types; of one without a name, the host MPI is asked how it was made. Any thread.
[[nodiscard]] bool find_reduction_pair(MPI_Datatype type, MPI_Op op, ReductionPair *pair);

// Whether the predefined operations on `type` come to the same in every order: those on integers and truth values. A
// type that is not known here counts as one that rounds. Hot, any thread.
[[nodiscard]] bool has_exact_results(MPI_Datatype type);

}  // namespace sluice::ops::coll
