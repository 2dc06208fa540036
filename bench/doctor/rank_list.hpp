// SPDX-License-Identifier: BSD-3-Clause
// Numbers of ranks, and what several of them have in common, as short texts. Pure.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/doctor/findings.hpp"

namespace sluice::bench::doctor {

// "0-3,7" of ascending numbers.
std::string rank_list(const std::vector<int> &ranks);

// "rank 3", "ranks 0-3,7".
std::string named_ranks(const std::vector<int> &ranks);

// The ranks for which `is_meant` holds.
std::vector<int> ranks_where(const std::vector<Json> &ranks, const std::function<bool(const Json &)> &is_meant);

// The different texts of the ranks, in the order of the first rank that has each, with those that have it. A rank may
// have several.
std::vector<std::pair<std::string, std::vector<int>>> folded_each(
    const std::vector<Json> &ranks, const std::function<std::vector<std::string>(const Json &)> &texts_of);

// The same, of one text a rank.
std::vector<std::pair<std::string, std::vector<int>>> folded(const std::vector<Json> &ranks,
                                                             const std::function<std::string(const Json &)> &text_of);

}  // namespace sluice::bench::doctor
