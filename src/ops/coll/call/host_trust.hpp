// SPDX-License-Identifier: BSD-3-Clause
// Which of its own functions the host MPI is trusted with: some host MPIs have faults in a form of a function that
// Sluice would rather use.
#pragma once

#include "ops/coll/call/call.hpp"

namespace sluice::ops::coll {

// Whether `op` is one that the program has made; MPI_OP_NULL is none. Any thread.
[[nodiscard]] bool is_by_own_operation(MPI_Op op);

// Whether `comm` has two groups, between which the host MPIs' non-blocking forms are not to be relied on: MPICH 4.0's
// MPI_Ibcast ends before the data is there. Any thread.
[[nodiscard]] bool is_between_groups(MPI_Comm comm);

// The host MPI's blocking form is to be relied on, for what this rank gives. Any thread.
[[nodiscard]] bool trusts_blocking(const Call &call);
// The same for whatever any rank gives; the same on all ranks. Any thread. Hot.
[[nodiscard]] bool all_trust_blocking(const Call &call);

}  // namespace sluice::ops::coll
