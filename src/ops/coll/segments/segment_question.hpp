// SPDX-License-Identifier: BSD-3-Clause
// SegmentQuestion: what the ranks tell each other of a call that may go in segments: what the least able of them can
// do, how long the longest buffer of any of them is, and whether the lengths fit that all have to give alike. Four
// numbers (docs/adr/0022).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/coll/call/length_terms.hpp"
#include "ops/comm/agreement.hpp"
#include "plan/segments.hpp"

namespace sluice::ops::coll {

// Stays where it is from start() until that request is complete. One thread at a time.
class SegmentQuestion {
 public:
  // This rank's answer: an ability, or an int below all of them; query->longest_bytes; and common_length().
  void say(int ability, std::uint64_t longest_bytes, int common_length) noexcept {
    constexpr std::uint64_t kMost = std::numeric_limits<long long>::max();
    agreement_.say({ability, -static_cast<long long>(std::min(longest_bytes, kMost)), common_length, -common_length});
  }
  // Begins to ask. Collective over `comm`. Returns the host MPI's code.
  [[nodiscard]] int start(MPI_Comm comm, MPI_Request *request) { return agreement_.start(comm, request); }

  // When the request is complete.
  [[nodiscard]] int least() const noexcept { return static_cast<int>(agreement_.least(0)); }
  [[nodiscard]] std::uint64_t longest_bytes() const noexcept {
    return static_cast<std::uint64_t>(-agreement_.least(1));
  }
  // Puts them into `query`; only of an ability. Where lengths do not fit no rank has any.
  void answer(plan::SegmentQuery *query) const noexcept {
    const bool fits = are_alike(agreement_.least(2), agreement_.least(3));
    query->ability = fits ? static_cast<plan::SegmentAbility>(least()) : plan::SegmentAbility::kNone;
    query->longest_bytes = longest_bytes();
  }

 private:
  Agreement<4> agreement_;
};

}  // namespace sluice::ops::coll
