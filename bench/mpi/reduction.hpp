// SPDX-License-Identifier: BSD-3-Clause
// MPI's names of our elements and operations.
#pragma once

#include <mpi.h>

#include "bench/cli/family_options.hpp"

namespace sluice::bench {

// is_reduction: bytes are numbers. MPI_CHAR is text and cannot be added.
inline MPI_Datatype mpi_type(ElementType type, bool is_reduction) {
  switch (type) {
    case ElementType::bytes:
      return is_reduction ? MPI_UNSIGNED_CHAR : MPI_CHAR;
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
