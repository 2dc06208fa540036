// SPDX-License-Identifier: BSD-3-Clause
// Member: what this process is in a communicator; what decides which arguments of a collective call count here.
#pragma once

#include <vector>

#include "ops/coll/call/call.hpp"
#include "ops/comm/comm_state.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

// What a process is in an operation that has a root.
enum class Role {
  kRoot,   // the root
  kOther,  // one of those that the root sends to, or that send to it
  kIdle    // of the root's group in an intercommunicator, and has no part in it
};

// Threads: any.
struct Member {
  int rank = 0;
  int size = 0;     // of the own group
  int n_peers = 0;  // blocks of a buffer that has one for each process: size, or the remote group's size
  bool is_inter = false;
  // Of the communicator, where it has one: for the call that is being made, and no longer.
  const CommState *state = nullptr;

  // False for a communicator that the host MPI does not know: the call is for it to refuse.
  [[nodiscard]] static bool of(MPI_Comm comm, Member *member);

  // For any `root`; one that is no rank makes nobody the root.
  [[nodiscard]] Role role(int root) const noexcept;
};

// The neighbours of this process in a communicator with a topology: ranks in the order of the blocks. At the border of
// a grid there is none, MPI_PROC_NULL, and nothing is received into its block. It does not change once it is found, so
// any thread may read it.
struct Neighborhood {
  std::vector<int> sources;
  std::vector<int> destinations;
  // A grid in which both neighbours in a direction are one rank, and then on all ranks.
  bool is_grid_with_one_twice = false;

  // Null without a topology: the call is for the host MPI to refuse. In a collective call on `comm`, which keeps what
  // the first one finds. Local. Hot when it is found. One thread at a time on a communicator.
  [[nodiscard]] static NeighborhoodPtr of(MPI_Comm comm);
};

}  // namespace sluice::ops::coll
