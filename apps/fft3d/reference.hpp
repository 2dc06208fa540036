// SPDX-License-Identifier: BSD-3-Clause
// What the host knows of the result without the device's library: the definition of the transform.
#pragma once

#include <string>
#include <vector>

#include "apps/fft3d/transform.hpp"

namespace sluice::apps::fft3d {

// Of a point of the whole grid before the transform: parts between -1 and 1 that float holds exactly.
Complex first_value(const std::array<std::uint64_t, 3> &place);
// Of the rank's pencil along x.
std::vector<Complex> first_values(const Pencil &pencil);

// Collective. Makes the transform move, without transforming, points that bear their own place in the grid, and looks
// at each bit of each point behind each way. Throws AgreedError.
void check_moves(const World &world, Transform &transform, const Pencils &pencils);

// Collective. Compares a forward transform of `first`, the first_values(), in pencils along z, and what the inverse
// made of it, with the host's own. The grid is transformed by the definition, dimension by dimension, where that takes
// no more than about a second (is_small()), and every point compared; else some frequencies are summed up by the ranks
// together. The sums of squares (Parseval) and the inverse are compared at every size. Throws AgreedError.
void check_transform(const World &world, const Grid &grid, const Pencils &pencils, bool is_double,
                     const std::vector<Complex> &first, const std::vector<Complex> &forward,
                     const std::vector<Complex> &inverse);
bool is_small(const Grid &grid);

}  // namespace sluice::apps::fft3d
