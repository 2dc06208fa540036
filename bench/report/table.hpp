// SPDX-License-Identifier: BSD-3-Clause
// The text table, in OSU's form: lines of comment, then size and value in columns, the value that OSU prints first.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/report/row.hpp"

namespace sluice::bench {

class Table {
 public:
  explicit Table(const Options &options) : options_(options) {}

  // The line with the column names.
  std::string heading(const Columns &columns) const;
  std::string line(const Row &row) const;

 private:
  const Options &options_;
};

// What ran, in a word: the routes of all ranks, each once in the order of ranks, with "/" between them; "-" for none.
std::string route_word(const Row &row);

// "Avg Latency(us)" and the like: `statistic` of the metric with its unit.
std::string metric_label(Metric metric, const char *statistic);
// The unit, as JSON says it: "us", "MB/s", "messages/s".
const char *metric_unit(Metric metric);
// True for bandwidths and rates.
bool is_higher_better(Metric metric);

}  // namespace sluice::bench
