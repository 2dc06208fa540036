// SPDX-License-Identifier: BSD-3-Clause
// The way between two ranks: from the device memory of one to that of the other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/doctor/findings.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench::doctor {

// Messages of these lengths show latency and bandwidth.
inline constexpr std::uint64_t kShortBytes = 8;
inline constexpr std::uint64_t kLongBytes = std::uint64_t{4} << 20;

// Of ranks up to which each pair is measured; of more ones each with the next.
inline constexpr std::size_t kMostRanksForAllPairs = 8;

// The pairs of the ranks of one node, in which each is the smaller one first. Pure.
std::vector<std::pair<int, int>> pairs_of(const std::vector<int> &ranks);

// The pairs between nodes, of the first rank of each: each node with the next one. Pairs of one element have no rank in
// common. Pure.
std::vector<std::vector<std::pair<int, int>>> pairs_between(const std::vector<int> &ranks);

// Measures the pairs of each node, one after the other, and then those between nodes. `mine`: this rank's facts. On
// rank 0 returns an object for each pair, elsewhere nothing. A rank takes no part that has no device of the backend, or
// no Sluice that takes it, or whose memory is refused: then `mine` gets a member "pair_problem". Collective. Throws
// MpiError and DeviceError, after which other ranks may wait for this one: end the job. A pair that takes longer than a
// minute ends the process.
std::vector<Json> measure_pairs(const World &world, const std::string &module_folder, const std::string &backend,
                                Json *mine);

}  // namespace sluice::bench::doctor
