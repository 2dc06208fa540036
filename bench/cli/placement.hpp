// SPDX-License-Identifier: BSD-3-Clause
// The words that say where messages lie: H, D, M, P.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/options.hpp"

namespace sluice::bench {

// The words of each placement: those that stand there, or those of pairs "D:D,H:D".
std::vector<std::vector<std::string>> placements_of(const std::vector<std::string> &words);

// Fills options.placement for options.test and options.device. Throws OptionError.
void interpret_placement(const std::vector<std::string> &words, Options &options);

}  // namespace sluice::bench
