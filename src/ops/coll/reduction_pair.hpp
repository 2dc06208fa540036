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

// False for derived types, operations of the program, types without an element (long double), and every operation that
// MPI 4.1 (section 6.9.2) does not define on the type: these are for the host MPI, to carry out or to refuse. Warm: a
// walk over the predefined types. Any thread.
[[nodiscard]] bool find_reduction_pair(MPI_Datatype type, MPI_Op op, ReductionPair *pair);

}  // namespace sluice::ops::coll
