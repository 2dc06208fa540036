// SPDX-License-Identifier: BSD-3-Clause
// What Faces must compute, by the host alone and without messages.
#pragma once

#include <string>
#include <vector>

#include "apps/faces/exchange.hpp"

namespace sluice::apps::faces {

// At most so many steps keep every sum exact: a point that eight elements share grows eightfold in each.
constexpr int kMostSteps = 300;

// The field at the start: whole numbers that depend on the element's place in the whole grid, the point and the seed.
std::vector<double> first_field(const Block &block, const Neighbours &neighbours, std::uint64_t seed);

// Compares every point of a field after n_steps with what it must hold, to the last bit. Returns what the first wrong
// one is and holds, or "".
std::string check_field(const Block &block, const Neighbours &neighbours, std::uint64_t seed, int n_steps,
                        const std::vector<double> &field);

}  // namespace sluice::apps::faces
