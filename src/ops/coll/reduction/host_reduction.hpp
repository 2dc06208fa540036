// SPDX-License-Identifier: BSD-3-Clause
// What the host MPI's own reductions of integers come to. Some do not keep to MPI: MPICH 4.0 compares unsigned numbers
// as signed ones, Open MPI 4.1 lets short ones saturate. Device memory gets what host memory gets
// (docs/architecture.md#invariants).
#pragma once

#include "sluice/backend.h"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

// Whether the host MPI computes `op`, which is `operation`, on integers of `type` as the kernels do: modulo their
// width, in their own order. Asks it with some hundred numbers. Setup cost; the caller keeps the answer. Any thread.
[[nodiscard]] bool computes_integers_as_kernels(MPI_Datatype type, int size_bytes, bool is_signed, MPI_Op op,
                                                sluice_operation_t operation);

// Whether the host MPI gives the same for `type` as for `named`, which is represented the same, in `size_bytes` bytes:
// Intel MPI 2021 takes no minimum of what MPI_Type_create_f90_real makes. Asks it once with some numbers. Setup cost;
// the caller keeps the answer. Any thread.
[[nodiscard]] bool computes_as_named(MPI_Datatype type, MPI_Datatype named, int size_bytes, MPI_Op op);

}  // namespace sluice::ops::coll
