// SPDX-License-Identifier: BSD-3-Clause
// Whether a reduction is the device's.
#pragma once

#include <initializer_list>

#include "ops/coll/call/collective_side.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
#include "plan/reduction.hpp"

namespace sluice::ops::coll {

// The choice for buffers `sides`, at least one, of elements of `type`; those that mean nothing at this rank do not
// count. *pair is what the device computes, if it does. Warm. Any thread.
[[nodiscard]] plan::ReductionPlan choose_kernel(std::initializer_list<const CollectiveSide *> sides, MPI_Datatype type,
                                                MPI_Op op, ReductionPair *pair);

}  // namespace sluice::ops::coll
