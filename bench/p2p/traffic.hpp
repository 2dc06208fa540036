// SPDX-License-Identifier: BSD-3-Clause
// Which messages a rank sends and receives in one iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::bench {

// One message of the iteration, seen from one of its two ranks. message: its number among all that its sender sends in
// the iteration; the data depend on it.
struct Lane {
  int peer = 0;
  int tag = 0;
  std::uint64_t message = 0;
};

// What one rank does; a slot is an index into one of the two.
struct Traffic {
  std::vector<Lane> send;
  std::vector<Lane> recv;
};

// Rank r of the lower half and rank r + n/2 belong together.
inline bool is_lower(int rank, int n_ranks) {
  return rank < n_ranks / 2;
}
inline int partner_of(int rank, int n_ranks) {
  return is_lower(rank, n_ranks) ? rank + n_ranks / 2 : rank - n_ranks / 2;
}

inline constexpr int kMessageTag = 100;

// n messages to or from one peer.
inline std::vector<Lane> lanes_with(int peer, std::size_t n) {
  std::vector<Lane> lanes;
  lanes.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    lanes.push_back({peer, kMessageTag, i});
  }
  return lanes;
}

}  // namespace sluice::bench
