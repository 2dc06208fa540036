// SPDX-License-Identifier: BSD-3-Clause
// SegmentQuestion: what the ranks tell each other of a call that may go in segments: what the least able of them can
// do, and how long the longest buffer of any of them is. One MPI_Iallreduce of two numbers (docs/adr/0022).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "plan/segments.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {

// Stays where it is from start() until that request is complete.
class SegmentQuestion {
 public:
  // This rank's answer: an ability, or an int below all of them; and query->longest_bytes.
  void say(int ability, std::uint64_t longest_bytes) noexcept {
    constexpr std::uint64_t kMost = std::numeric_limits<long long>::max();
    said_ = {ability, -static_cast<long long>(std::min(longest_bytes, kMost))};
    heard_ = said_;
  }
  // Begins to ask. Collective over `comm`. Returns the host MPI's code.
  [[nodiscard]] int start(MPI_Comm comm, MPI_Request *request) {
    return wire::host().MPI_Iallreduce(said_.data(), heard_.data(), static_cast<int>(said_.size()), MPI_LONG_LONG_INT,
                                       MPI_MIN, comm, request);
  }

  // When the request is complete.
  [[nodiscard]] int least() const noexcept { return static_cast<int>(heard_[0]); }
  [[nodiscard]] std::uint64_t longest_bytes() const noexcept { return static_cast<std::uint64_t>(-heard_[1]); }
  // Puts both into `query`; only of an ability.
  void answer(plan::SegmentQuery *query) const noexcept {
    query->ability = static_cast<plan::SegmentAbility>(least());
    query->longest_bytes = longest_bytes();
  }

 private:
  std::array<long long, 2> said_{};
  std::array<long long, 2> heard_{};
};

}  // namespace sluice::ops::coll
