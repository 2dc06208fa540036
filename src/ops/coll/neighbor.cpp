// SPDX-License-Identifier: BSD-3-Clause
// MPI_Neighbor_allgather(v) and MPI_Neighbor_alltoall(v, w) in all their forms: blocks for and from the neighbours in a
// topology. Blocks that belong to no neighbour, at the border of a grid, stay as they are.
#include "ops/coll/carry_out.hpp"
#include "ops/env/errors.hpp"

namespace sluice::ops::coll {
namespace {

// All members know that their communicator has a topology.
void find_neighbors(Call *call, Pattern pattern) {
  if (!look_whether_member_matters()) return;
  call->neighbors = Neighborhood::of(call->comm);
  if (call->neighbors != nullptr) call->pattern = pattern;
}

}  // namespace

int neighbor_allgather(Call *call) {
  return guarded(call->comm, [&]() -> int {
    find_neighbors(call, Pattern::kNeighborAllgather);
    return carry_out(call, [call](const Member & /*member*/, Sides *sides) -> Status {
      if (call->neighbors == nullptr) return {};
      const Neighborhood &neighbors = *call->neighbors;
      // To nobody: then the buffer means nothing.
      const int n_sent = neighbors.destinations.empty() ? 0 : 1;
      Status status = sides->send.classify(call->send, n_sent, {Access::kRead}, Use::kMoved);
      if (!status.is_ok()) return status;
      const BlockAccess access{Access::kWrite, -1, Access::kNone, &neighbors.sources};
      return sides->recv.classify(call->recv, static_cast<int>(neighbors.sources.size()), access, Use::kMoved);
    });
  });
}

int neighbor_alltoall(Call *call) {
  return guarded(call->comm, [&]() -> int {
    find_neighbors(call, Pattern::kNeighborAlltoall);
    // Where both neighbours in a direction are one rank, Open MPI 4's non-blocking forms take their blocks for each
    // other, and its blocking ones do not. All members know their grid.
    call->comes_after_barrier = call->neighbors != nullptr && call->neighbors->is_grid_with_one_twice;
    return carry_out(call, [call](const Member & /*member*/, Sides *sides) -> Status {
      if (call->neighbors == nullptr) return {};
      const Neighborhood &neighbors = *call->neighbors;
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
