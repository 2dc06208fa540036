// SPDX-License-Identifier: BSD-3-Clause
// MPI's names of our elements and operations.
#pragma once

#include <mpi.h>

#include "bench/cli/family_options.hpp"

namespace sluice::bench {

// Bytes are MPI_CHAR, in reductions too, as the usual benchmark has them: MPI does not define that, and every host MPI
// that was met takes it.
inline MPI_Datatype mpi_type(ElementType type) {
  switch (type) {
    case ElementType::bytes:
      return MPI_CHAR;
    case ElementType::int32:
      return MPI_INT;
    case ElementType::float32:
      return MPI_FLOAT;
    case ElementType::float64:
      return MPI_DOUBLE;
    default:
      return MPI_INT64_T;
  }
}

inline MPI_Op mpi_operation(Operation operation) {
  switch (operation) {
    case Operation::max:
      return MPI_MAX;
    case Operation::min:
      return MPI_MIN;
    default:
      return MPI_SUM;
  }
}

}  // namespace sluice::bench
