// SPDX-License-Identifier: BSD-3-Clause
// Meetings: the ranks of a communicator come together in shared memory, in turns, before the host MPI's blocking
// function is called (docs/adr/0045).
#pragma once

#include <cstdint>

#include "wire/mpi.hpp"

namespace sluice::ops::coll {

class NodeGroup;

// What the ranks of a communicator have come to, the same on all of them.
struct Meeting {
  bool has_met = false;       // all are in the call, which depends on nobody outside any more
  bool may_block = false;     // and each has said that the host MPI may block
  bool lengths_fit = false;   // the terms that they gave say so (length_terms.hpp)
  bool is_in_memory = false;  // they met in shared memory, so that meeting again costs little
  bool some_go = false;       // some are in a call of the ranks together, where they wait for all others
};

// In a blocking call on `comm` that all its ranks make alike, whichever it is. They do not meet where not all are on
// one node or they are too many, without shared memory, and in a communicator's first calls (SLUICE_COLL_MEET). One
// thread at a time on a communicator, as MPI has it. Sets up shared memory in one of the calls. Hot.
[[nodiscard]] Meeting meet(MPI_Comm comm, bool may_block, std::uint32_t length_term = 0);
// The same where all have `group`, for a rank that goes on without waiting: its part of the meeting, in which it says
// that it is in a call of the ranks together; and, once that call has ended without result, what they came to.
void pass_meeting(NodeGroup *group, std::uint32_t length_term) noexcept;
[[nodiscard]] Meeting hear_of_meeting(NodeGroup *group);

}  // namespace sluice::ops::coll
