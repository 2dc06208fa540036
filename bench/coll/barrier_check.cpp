// SPDX-License-Identifier: BSD-3-Clause
// Nobody leaves a barrier early.
#include "bench/coll/barrier_check.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace sluice::bench {
namespace {

constexpr std::chrono::milliseconds kLate{2};

double over_ranks(const RankGroup &group, double value, MPI_Op op) {
  double result = 0;
  check_mpi(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, op, group.communicator()), "MPI_Allreduce");
  return result;
}

}  // namespace

std::string check_barrier(const RankGroup &group, const SharedClock &clock, std::uint64_t iteration,
                          const std::function<void()> &barrier) {
  // Everybody is here and knows it: a reduction is no barrier by name, but nobody has its result before all have come.
  const double clock_error_us = over_ranks(group, clock.error_us(), MPI_MAX);
  if (iteration % static_cast<std::uint64_t>(group.n_ranks()) == static_cast<std::uint64_t>(group.rank())) {
    std::this_thread::sleep_for(kLate);
  }
  const double came = clock.now_us();
  barrier();
  const double went = clock.now_us();
  const double last_came = over_ranks(group, came, MPI_MAX);
  const double first_went = over_ranks(group, went, MPI_MIN);
  if (first_went + 2 * clock_error_us >= last_came) {
    return "";
  }
  return fmt::format("a rank left {:.1f} us before the last one came", last_came - first_went);
}

}  // namespace sluice::bench
