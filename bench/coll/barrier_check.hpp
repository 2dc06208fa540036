// SPDX-License-Identifier: BSD-3-Clause
// A barrier moves no data: what can be checked is that nobody leaves it early.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/coll/rank_group.hpp"
#include "bench/mpi/start_line.hpp"

namespace sluice::bench {

// Collective over the group. Sends one rank of it, another in each iteration, late into the barrier, and compares when
// each rank came and went. Returns what is wrong, the same on all ranks of the group; "" when the first left after the
// last came. Throws MpiError.
std::string check_barrier(const RankGroup &group, const SharedClock &clock, std::uint64_t iteration,
                          const std::function<void()> &barrier);

}  // namespace sluice::bench
