// SPDX-License-Identifier: BSD-3-Clause
// Work on the host that takes a given time when nothing disturbs it.
#pragma once

#include <cstdint>

namespace sluice::bench {

// A fixed amount of arithmetic on data in the first cache. Measured once how much of it a µs holds: the work then does
// not look at a clock, so that a rank that is disturbed takes longer, as a program would.
class HostWork {
 public:
  HostWork();

  // Amount of work that takes about time_us.
  std::uint64_t amount_of(double time_us) const;
  // Blocks for that long.
  void run(std::uint64_t amount);

 private:
  double amount_per_us_ = 1;
  double state_ = 1;
};

}  // namespace sluice::bench
