// SPDX-License-Identifier: BSD-3-Clause
// Samples of several ranks made one set.
#include "bench/mpi/rank_samples.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>

#include "bench/mpi/world.hpp"

namespace sluice::bench {

std::vector<double> largest_of_ranks(std::vector<double> samples, bool counts, bool is_shared) {
  if (!is_shared) {
    return samples;
  }
  if (!counts) {
    std::fill(samples.begin(), samples.end(), -std::numeric_limits<double>::infinity());
  }
  std::vector<double> largest(samples.size());
  constexpr std::size_t kPart = 1U << 20U;  // the count is an int
  for (std::size_t begin = 0; begin < samples.size(); begin += kPart) {
    const int n = static_cast<int>(std::min(kPart, samples.size() - begin));
    check_mpi(MPI_Allreduce(&samples[begin], &largest[begin], n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  }
  return largest;
}

}  // namespace sluice::bench
