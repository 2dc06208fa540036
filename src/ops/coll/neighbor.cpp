// SPDX-License-Identifier: BSD-3-Clause
// MPI_Neighbor_allgather(v) and MPI_Neighbor_alltoall(v, w) in all their forms: blocks for and from the neighbours in a
// topology. Blocks that belong to no neighbour, at the border of a grid, stay as they are.
#include "ops/coll/carry_out.hpp"

namespace sluice::ops::coll {

int neighbor_allgather(Call *call) {
  return carry_out(call, [call](const Member & /*member*/, Sides *sides) -> Status {
    Neighborhood neighbors;
    if (!Neighborhood::of(call->comm, &neighbors)) return {};
    Status status = sides->send.classify(call->send, 1, {Access::kRead}, Use::kMoved);
    if (!status.is_ok()) return status;
    const BlockAccess access{Access::kWrite, -1, Access::kNone, &neighbors.sources};
    return sides->recv.classify(call->recv, static_cast<int>(neighbors.sources.size()), access, Use::kMoved);
  });
}

int neighbor_alltoall(Call *call) {
  return guarded(call->comm, [&]() -> int {
    Neighborhood neighbors;
    const bool is_known = needs_member() && Neighborhood::of(call->comm, &neighbors);
    // Where both neighbours in a direction are one rank, Open MPI 4's non-blocking forms take their blocks for each
    // other, and its blocking ones do not. All members know their grid.
    call->comes_after_barrier = is_known && neighbors.has_one_twice;
    return carry_out(call, [&](const Member & /*member*/, Sides *sides) -> Status {
      if (!is_known) return {};
      BlockAccess access{Access::kRead, -1, Access::kNone, &neighbors.destinations};
      Status status =
          sides->send.classify(call->send, static_cast<int>(neighbors.destinations.size()), access, Use::kMoved);
      if (!status.is_ok()) return status;
      access = {Access::kWrite, -1, Access::kNone, &neighbors.sources};
      return sides->recv.classify(call->recv, static_cast<int>(neighbors.sources.size()), access, Use::kMoved);
    });
  });
}

}  // namespace sluice::ops::coll
