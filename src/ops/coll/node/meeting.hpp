// SPDX-License-Identifier: BSD-3-Clause
// Meetings: what the ranks of a communicator on one node tell each other in shared memory before the host MPI's
// blocking function is called (docs/adr/0045, docs/adr/0068).
//
// A rank inside the host MPI's function serves nobody. So a rank that has messages under way for which another may need
// it, or threads that may begin some, waits, in turns, until all ranks have come to the call: the call depends on
// nobody outside then. A rank that has none says that it has come, and waits for nobody.
//
// Threads: any, one at a time on a communicator, as MPI has collective calls.
#pragma once

#include <cstdint>

#include "ops/comm/comm_state.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

class NodeGroup;

// What this rank brings to a meeting.
struct Arrival {
  bool may_block = true;     // the host MPI's blocking function may be called, if all say so
  bool goes_on = false;      // it will be, whatever the others say; those who wait hear of that
  bool wants_terms = false;  // this rank has to know whether the lengths fit, so it waits in any case
  std::uint32_t term = 0;    // of its lengths (length_terms.hpp)
};

// What the ranks of a communicator have come to. The same on all that waited.
struct Meeting {
  bool has_met = false;        // the ranks meet in this call; where none are gone, all are in it
  bool may_block = false;      // each calls the host MPI's blocking function
  bool knows_lengths = false;  // `lengths_fit` is known
  bool lengths_fit = false;    // the terms that they gave say so
  bool is_in_memory = false;   // they met in shared memory, so that meeting again costs little
  bool some_go = false;        // some are in a call of the ranks together, where they wait for all others
  bool some_are_gone = false;  // some have gone on: the call is the host MPI's, by its blocking function
  NodeGroup *group = nullptr;  // where they met in memory; lives as long as the communicator
  std::uint64_t number = 0;    // of the vote
};

// In a blocking call on `comm` that all its ranks make alike, whichever it is. They do not meet where not all are on
// one node or they are too many, without shared memory, and in a communicator's first calls (SLUICE_COLL_MEET). Sets up
// shared memory in one of the calls. Blocks, in turns, where this rank waits. Hot: a rank that goes on and has nothing
// under way writes a word.
[[nodiscard]] Meeting meet(MPI_Comm comm, const Arrival &own);
// The same, with the communicator's state.
[[nodiscard]] Meeting meet(MPI_Comm comm, const CommState &state, const Arrival &own);
// meet() in two halves, where all have `group`, for a rank that carries a call out together with its node:
// begin_meeting() announces the rank, and hear_of_meeting() returns the result.
void begin_meeting(NodeGroup *group, std::uint32_t term);
[[nodiscard]] Meeting hear_of_meeting(NodeGroup *group);

// Of a meeting in memory in which each calls the blocking function: this rank has not its data. Before that call.
void say_without_data(const Meeting &meeting) noexcept;
// Behind that call: whether any rank may have said so, and whether `rank` has. Hot.
[[nodiscard]] bool may_lack_data(const Meeting &meeting) noexcept;
[[nodiscard]] bool is_without_data(const Meeting &meeting, int rank) noexcept;

}  // namespace sluice::ops::coll
