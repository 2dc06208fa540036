// SPDX-License-Identifier: BSD-3-Clause
// What was measured at one size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure/block_budget.hpp"
#include "bench/measure/statistics.hpp"

namespace sluice::bench {

// The outcome of the untimed, checked iterations.
struct CheckOutcome {
  std::uint64_t n_iterations = 0;  // 0: nothing was checked
  std::string failure;             // empty: every byte was right
};

// A figure beside the series, derived from them: messages a second, bus bandwidth, overlap.
struct ExtraColumn {
  std::string key;    // in JSON and CSV
  std::string label;  // in the table, with its unit
};

// What every row of a run has.
struct Columns {
  std::vector<std::string> series;
  std::vector<ExtraColumn> extras;
  bool has_packing = false;  // rows say who packed by hand
  bool has_routes = false;   // a library below says which routes ran
};

// The route of one rank.
struct RankRoute {
  int rank = 0;
  std::string route;  // "ipc", or "ipc+staged" with the most used first; "" when no operation ran
};

struct Row {
  std::uint64_t size_bytes = 0;
  CheckOutcome check;
  std::vector<Series> series;  // empty when the check failed: wrong data is not timed
  std::vector<double> extras;  // one for each extra column, or none
  std::string packed_by;       // "kernel", "copies" or "cpu", "/" between those of ranks that differ; "": nothing was
  std::vector<RankRoute> routes;
  Stop stopped = Stop::none;  // why there are fewer blocks than --repeat says
};

// The words that differ, in their order, with "/" between them; empty ones are left out.
std::string distinct(const std::vector<std::string> &words);

}  // namespace sluice::bench
