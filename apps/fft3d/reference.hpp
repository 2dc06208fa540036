// SPDX-License-Identifier: BSD-3-Clause
// What the host knows of the result without the device's library: the definition of the transform.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "apps/fft3d/host_threads.hpp"
#include "apps/fft3d/transform.hpp"

namespace sluice::apps::fft3d {

// Of a point of the whole grid before the transform: parts between -1 and 1 that float holds exactly.
Complex first_value(const std::array<std::uint64_t, 3> &place);

// The rank's points before the transform, and what is known of them after it. What it is given outlives it. All that it
// says is the same whatever the number of threads.
class Reference {
 public:
  // Collective. The grid is transformed by the definition, dimension by dimension, where that takes one thread no more
  // than about a second (is_small()); else some frequencies are summed up by the ranks together.
  Reference(const World &world, const Grid &grid, const Pencils &pencils, bool is_double, const HostThreads &threads);

  // Of the rank's pencil along x.
  const Values &first() const { return first_; }

  // Collective. Makes the transform move, without transforming, points that bear their own place in the grid, and looks
  // at each bit of each point behind each way. Throws AgreedError.
  void check_moves(Transform &transform) const;

  // Collective. Compares a forward transform of first(), in pencils along z, and what the inverse made of it, with the
  // host's own: every point where the grid is small, else the frequencies that were summed up. The sums of squares
  // (Parseval) and the inverse are compared at every size. Throws AgreedError.
  void check_transform(const Values &forward, const Values &inverse) const;

 private:
  struct Frequency {
    std::array<std::uint64_t, 3> place;
    Complex value;
  };

  std::string compare_moved(const Pencil &pencil, const Values &moved, const char *where) const;
  std::string compare_frequencies(const Values &forward, double allowed) const;

  const World &world_;
  const Grid &grid_;
  const Pencils &pencils_;
  const HostThreads &threads_;
  double allowed_;
  Values first_;
  double square_sum_;               // of the first values of all ranks
  Values all_;                      // small grids: every frequency of the whole grid, [z][y][x]
  std::vector<Frequency> sampled_;  // others
};
bool is_small(const Grid &grid);

}  // namespace sluice::apps::fft3d
