// SPDX-License-Identifier: BSD-3-Clause
// CollectiveTerms: what all ranks of the job agree on for collective operations. Pure.
#pragma once

#include <cstdint>

namespace sluice {

// What the knobs say of collective operations, which all ranks must take the same way: the agreed ones.
struct CollectiveTerms {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0} >> 1U;
  std::uint64_t threshold_bytes = kNever;         // from this length on the ranks of a node look at a call together
  std::uint64_t reduce_threshold_bytes = kNever;  // the same, at a reduction
  std::uint64_t levels_threshold_bytes = kNever;  // from this length on those of several nodes ask for two levels
  bool may_leave_out = true;  // not at every one, when they had better not (ops/coll/node/node_group.hpp)
  std::uint64_t segments_threshold_bytes = kNever;  // from this length on staged ones may go in segments
  std::uint64_t segment_bytes = 1;                  // of such a length, at least 1
  bool may_stay_whole = true;                       // where no rank gains by it; then some calls are left out
  bool keeps_rank_order = false;                    // reductions are computed from the left in the order of the ranks
  std::uint64_t first_meeting = kNever;             // after so many blocking calls on a communicator its ranks meet
  // Of non-blocking calls, as long as no blocking one has found that the ranks can: to ask is more than a short one
  // takes.
  std::uint64_t unmet_threshold_bytes = kNever;
  std::uint64_t unmet_reduce_threshold_bytes = kNever;
};

}  // namespace sluice
