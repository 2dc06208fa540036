// SPDX-License-Identifier: BSD-3-Clause
// Meetings: the ranks of a communicator come together in shared memory, in turns, before the host MPI's blocking
// function is called (docs/adr/0045).
#pragma once

#include "wire/mpi.hpp"

namespace sluice::ops::coll {

// In a blocking call on `comm` that all its ranks make alike, whichever it is. True, on all ranks, when all are in it
// and each has said that the host MPI `may_block`: nor does the call depend on anybody outside any more. False, on all,
// where one has said no, and where they do not meet: not all on one node, too many, no shared memory, or few calls so
// far (SLUICE_COLL_MEET). One thread at a time on a communicator, as MPI has it. Sets up shared memory in one of the
// calls. Hot.
[[nodiscard]] bool meet(MPI_Comm comm, bool may_block);

}  // namespace sluice::ops::coll
