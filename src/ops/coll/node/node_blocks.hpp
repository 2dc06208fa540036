// SPDX-License-Identifier: BSD-3-Clause
// Which blocks of a rank's buffers other ranks get in a collective operation that moves data, and which it gets from
// whom: MPI_Bcast, MPI_Gather(v), MPI_Scatter(v), MPI_Allgather(v), MPI_Alltoall(v, w) within one group, and
// MPI_Neighbor_allgather(v), MPI_Neighbor_alltoall(v, w), in any form.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/node/neighbor_edges.hpp"
#include "transfer/region.hpp"

namespace sluice::ops::coll {

// Blocks of no bytes have no layout.
struct NodeBlocks {
  struct Wanted {
    int source;  // rank
    int block;   // of those that it offers; whichever, where that is one for all
    transfer::Region region;
    std::uint64_t n_runs = 0;  // that the region lies in, as far as they are counted; NodeOffer::fill() sets it
  };
  std::vector<transfer::Region> offered;  // one for each rank or destination, or one for all, or none
  std::vector<Wanted> wanted;
};

// The blocks at this rank; of sides that hold device memory, or nothing. `pairing`: known. Any thread.
[[nodiscard]] NodeBlocks blocks_of(const Call &call, const Member &member, const Sides &sides,
                                   const EdgePairing &pairing);

}  // namespace sluice::ops::coll
