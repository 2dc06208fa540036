// SPDX-License-Identifier: BSD-3-Clause
// What the command line must know of a test. The tests themselves are listed in bench/catalogue.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::bench {

// The quantity that a test prints.
enum class Metric { latency_us, bandwidth_mbps, copy_us };

struct TestInfo {
  std::string_view name;
  std::string_view title;  // one line, for --list and the heading
  Metric metric = Metric::latency_us;
  int n_ranks = 2;             // exactly so many ranks; 0: any number
  std::uint64_t min_size = 0;  // smallest message, in bytes
  bool has_placement = true;   // takes the words H D M P
  bool needs_device = false;   // means nothing without -d
};

}  // namespace sluice::bench
