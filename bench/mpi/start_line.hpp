// SPDX-License-Identifier: BSD-3-Clause
// All ranks begin an iteration together, and their ends are compared on one clock.
#pragma once

#include <cstdint>

#include "bench/cli/family_options.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench {

// Rank 0's clock, on every rank. On rank 0's own machine it is the same clock; elsewhere its offset is found by an
// exchange of time stamps, of which the fastest of many counts.
class SharedClock {
 public:
  // Collective. Throws MpiError.
  explicit SharedClock(const World &world);

  // Local, hot. µs since an arbitrary moment, the same for all ranks.
  double now_us() const;
  // Half the round trip of the exchange that counted: the offset is not further off. 0 on rank 0's machine.
  double error_us() const { return error_us_; }

 private:
  void ask_root(const World &world);
  static void answer(const World &world, int rank);

  double offset_us_ = 0;
  double error_us_ = 0;
};

// Lets ranks go together, once for each iteration.
class StartLine {
 public:
  // Collective. Measures how long it takes to agree on a time. Throws MpiError.
  StartLine(const World &world, StartRule rule);

  // Collective. Returns the moment from which this iteration counts on this rank.
  // clock: a moment a little after the last rank came here, the same on all ranks; a rank that is told too late counts
  // from that moment all the same. barrier: this rank's own return from MPI_Barrier.
  double wait();

  const SharedClock &clock() const { return clock_; }
  // Iterations that this rank began more than a µs too late.
  std::uint64_t n_late() const { return n_late_; }

 private:
  double agree_on_latest() const;
  void wait_until(double time_us) const;

  StartRule rule_;
  SharedClock clock_;
  bool is_crowded_;     // more ranks than cores: a waiting rank must let others run
  double lead_us_ = 0;  // from the last rank's arrival to the start
  std::uint64_t n_late_ = 0;
};

}  // namespace sluice::bench
