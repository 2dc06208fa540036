// SPDX-License-Identifier: BSD-3-Clause
// Samples of several ranks made one set.
#pragma once

#include <vector>

namespace sluice::bench {

// The largest value of each sample over the ranks that count, on all ranks. Collective when is_shared; without, samples
// are returned as they are. All ranks have equally many. Throws MpiError.
std::vector<double> largest_of_ranks(std::vector<double> samples, bool counts, bool is_shared = true);

}  // namespace sluice::bench
