// SPDX-License-Identifier: BSD-3-Clause
// LevelSlices: how the elements of a reduction of several nodes are divided among the lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transfer/reduction_steps.hpp"

namespace sluice::ops::coll {

// The slice of each rank of one node, in elements: as many slices as lanes, the same on all nodes; ranks above the
// lanes have none. In ints, as MPI takes them.
struct LevelSlices {
  std::vector<int> counts;  // by local rank
  std::vector<int> places;

  // Cuts `count` elements, at most 2^30, of `element_bytes`. May throw std::bad_alloc.
  LevelSlices(std::uint64_t count, std::uint64_t element_bytes, int n_lanes, int n_local)
      : counts(static_cast<std::size_t>(n_local), 0), places(static_cast<std::size_t>(n_local), 0) {
    for (int lane = 0; lane < n_lanes; ++lane) {
      const transfer::Share share = transfer::share_of(count, element_bytes, static_cast<std::uint64_t>(n_lanes),
                                                       static_cast<std::uint64_t>(lane));
      counts[static_cast<std::size_t>(lane)] = static_cast<int>(share.count());
      places[static_cast<std::size_t>(lane)] = static_cast<int>(share.first);
    }
  }
};

// Elements that go through the levels at once: as many as an int tells.
inline constexpr std::int64_t kMostLevelElements = std::int64_t{1} << 30;

}  // namespace sluice::ops::coll
