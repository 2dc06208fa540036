// SPDX-License-Identifier: BSD-3-Clause
// The words that say where messages lie: H, D, M, P; D/H: what a rank of a collective sends from / receives into.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/options.hpp"

namespace sluice::bench {

// The words of each placement: those that stand there, or those of pairs "D:D,H:D". A word "D,H,D" is one placement, of
// three ranks.
std::vector<std::vector<std::string>> placements_of(const std::vector<std::string> &words);

// Fills options.placement and recv_placement for options.test and options.device. Where a list says the memory of each
// rank, rank_placement and rank_recv_placement have it, and placement is rank 0's and that of the other which is
// farthest from plain host memory. Throws OptionError.
void interpret_placement(const std::vector<std::string> &words, Options &options);

}  // namespace sluice::bench
