// SPDX-License-Identifier: BSD-3-Clause
// A type that is one run of bytes, but not from the buffer's address on.
#pragma once

#include <mpi.h>

namespace sluice::tests {

// Rows 3 and 4 of a matrix of n_rows (5 at least) by n_columns elements of `element`. Committed; the caller frees it.
inline MPI_Datatype rows_of_matrix(int n_rows, int n_columns, MPI_Datatype element) {
  const int sizes[] = {n_rows, n_columns};
  const int taken[] = {2, n_columns};
  const int from[] = {3, 0};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, taken, from, MPI_ORDER_C, element, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace sluice::tests
