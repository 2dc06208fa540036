// SPDX-License-Identifier: BSD-3-Clause
// How long the blocks of an uneven all-to-all are: one rule for sluice-bench and for the programs of the peers, which
// are compiled by themselves.
#pragma once

#include <cstdint>

namespace peers {

// A block is so many of this part of a size.
constexpr std::uint64_t kPartsOfSize = 4;

// What a rank sends to `peer`, in quarters of the size: none to two sizes; one size on average over eight peers. What
// goes there and what comes back differ, so that counts of one side taken for the other's are seen. Some are nothing,
// among three ranks and more also between two different ones.
constexpr std::uint64_t uneven_quarters(int rank, int peer) {
  constexpr std::uint64_t kQuarters[] = {0, 4, 7, 2, 5, 8, 1, 5};
  constexpr std::uint64_t kPeriod = sizeof kQuarters / sizeof kQuarters[0];
  return kQuarters[(2 * static_cast<std::uint64_t>(rank) + 3 * static_cast<std::uint64_t>(peer)) % kPeriod];
}

// The same of a size of n elements, in elements, rounded down.
constexpr std::uint64_t uneven_block(std::uint64_t n, int rank, int peer) {
  const std::uint64_t quarters = uneven_quarters(rank, peer);
  return n / kPartsOfSize * quarters + n % kPartsOfSize * quarters / kPartsOfSize;
}

}  // namespace peers
