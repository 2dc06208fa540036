// SPDX-License-Identifier: BSD-3-Clause
// CommState: what Sluice knows of one of the program's communicators; hangs on it as an attribute.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/coll/attempts.hpp"
#include "ops/p2p/claims.hpp"
#include "plan/plan.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

namespace coll {
class FoldGroup;
class LevelGroup;
class NodeGroup;
class NodeLevels;
class RequestGroup;
class StagingComm;
class SegmentGroup;
struct Neighborhood;
}  // namespace coll

struct CommState {
  // The rank in MPI_COMM_WORLD of each rank of the (remote) group; -1 for a process outside of it.
  std::vector<int> world_ranks;
  // All of its processes, in both groups, are in MPI_COMM_WORLD: they agreed on the channel.
  bool is_within_world = false;
  // And all are on this node.
  bool is_on_one_node = false;
  // Sluice's own, for the levels of another communicator (ops/coll/node_levels.hpp).
  bool is_of_levels = false;
  // Of a communicator with a topology: who this process' neighbours are, once a collective call has looked
  // (ops/coll/member.hpp); they stay the same as long as the communicator lives. Belongs to the same as what follows.
  std::shared_ptr<const coll::Neighborhood> neighborhood;
  // What they share for collective operations (ops/coll/node_group.hpp). Belongs to whoever is in a collective call on
  // the communicator, of which MPI allows one at a time.
  std::shared_ptr<coll::NodeGroup> node_group;
  bool has_sought_node_group = false;
  std::uint64_t n_calls_without_meeting = 0;  // blocking ones (ops/coll/meeting.hpp)
  std::uint64_t n_whole_calls = 0;            // blocking ones of the host MPI's (ops/coll/whole_call.hpp)
  // How non-blocking ones come to it (ops/coll/request_group.hpp).
  std::shared_ptr<coll::RequestGroup> request_group;
  // What that goes on with (RequestGroup::make_ahead).
  std::shared_ptr<coll::StagingComm> request_comm;
  // Of several nodes: the same for what lies across them (ops/coll/node_levels.hpp).
  std::shared_ptr<coll::NodeLevels> node_levels;
  bool has_sought_node_levels = false;
  // A non-blocking call had a use for it, and may not make it.
  bool wants_node_levels = false;
  // For how many of the communicators that are made of this one it is made with them.
  std::uint32_t n_levels_ahead = 0;
  // What calls with requests share that go across them (ops/coll/level_group.hpp).
  std::shared_ptr<coll::LevelGroup> level_group;
  // What reductions with requests share that are folded in the order of the ranks (ops/coll/fold_group.hpp).
  std::shared_ptr<coll::FoldGroup> fold_group;
  // How often they ask each other whether to stage in segments (ops/coll/in_segments.hpp); belongs to the same.
  coll::Attempts segment_attempts;
  coll::Attempts unequal_segment_attempts;  // of calls of which each rank knows its own part alone
  // What those share that go in segments (ops/coll/segment_group.hpp), and those that could have and did not for want
  // of it.
  std::shared_ptr<coll::SegmentGroup> segment_group;
  coll::Wishes segment_wishes;
  coll::Wishes unequal_segment_wishes;
  // Messages that a probe has taken off the host MPI's queue.
  Claims claims;
};

using CommStatePtr = std::shared_ptr<CommState>;

// The state of `comm`, made by the first call; null when there is none to be had (an invalid communicator, the channel
// is closed, no memory): messages are plain then. Held by the caller, so that MPI_Comm_free takes nothing away from an
// operation under way. Any thread. Warm: one attribute look-up.
[[nodiscard]] CommStatePtr state_of(MPI_Comm comm);

// The same, quicker: of those that this thread has asked for lately. Hot.
[[nodiscard]] CommStatePtr recent_state_of(MPI_Comm comm);

// How many communicators with a state are gone. What is remembered of a communicator by its handle, which may be given
// to another one, holds while this stays the same; MPI_COMM_WORLD stays. Any thread. Hot.
[[nodiscard]] std::uint64_t n_comms_gone() noexcept;

// What `rank` of `comm` can do, and its rank in MPI_COMM_WORLD (-1: unknown).
[[nodiscard]] plan::Peer peer_of(MPI_Comm comm, int rank, int *world_rank);

// The members of `comm` have the channel open between them, so that each knows what the others do. Hot for
// MPI_COMM_WORLD.
[[nodiscard]] bool is_within_channel(MPI_Comm comm);

// Gives the attribute key back. Call before MPI_Finalize.
void release_comm_states() noexcept;

}  // namespace sluice::ops
