// SPDX-License-Identifier: BSD-3-Clause
// What reductions of numbers that are rounded come to: in the order of the ranks to the last bit, and in any order near
// the exact result.
#pragma once

#include <complex>

#include "tests/ranks/coll/reduction_types.hpp"
#include "tests/support/memory.hpp"

namespace sluice::tests {

// The input of `rank`, whose sums and products are rounded.
Bytes rounded_input(const TypeCase &of, int rank, int count);

// The inputs of the first `n_ranks` ranks, one after the other from the left. The host MPI computes it here alone.
Bytes folded_in_order(const TypeCase &of, MPI_Op op, int n_ranks, int count);

// Makes equal what `wanted` has overflowed in: host MPIs multiply Fortran's complex numbers without recovering
// infinities as C11 (annex G.5.1) and our kernels do, so that one says infinite and the other not a number.
void forget_overflows(const TypeCase &of, Bytes *wanted, Bytes *found);

// "" when `found` is as near the exact sums or products of all ranks' inputs as any order of the operations leaves it;
// else where it is not. `op` is MPI_SUM or MPI_PROD.
std::string find_rounding_error(const TypeCase &of, MPI_Op op, int n_ranks, const Bytes &found);

}  // namespace sluice::tests
