// SPDX-License-Identifier: BSD-3-Clause
// The CSV file of a run.
#include "bench/report/csv_report.hpp"

#include <fmt/format.h>

#include "bench/report/table.hpp"

namespace sluice::bench {
namespace {

const char *check_word(const CheckOutcome &check) {
  if (check.n_iterations == 0) {
    return "none";
  }
  return check.failure.empty() ? "pass" : "fail";
}

// What does not depend on the block; sizes that failed have no series, and a line of their own.
std::string start_of(const Options &options, const Row &row) {
  return fmt::format("{},{},{}", options.test->name, row.size_bytes, check_word(row.check));
}

std::string figures_of(const Summary &block) {
  return fmt::format(",{},{},{},{},{},{},{},{},{}", block.n_samples, block.mean, block.median, block.min, block.max,
                     block.p99, block.stddev, block.median_low, block.median_high);
}

}  // namespace

std::string csv_document(const Options &options, const Columns &columns, const std::vector<Row> &rows) {
  std::string text =
      "test,size_bytes,check,series,block,unit,samples,mean,median,min,max,p99,stddev,median_low,median_high";
  for (const double percent : options.percentiles) {
    text += fmt::format(",p{:g}", percent);
  }
  for (const ExtraColumn &extra : columns.extras) {
    text += "," + extra.key;
  }
  text += columns.has_packing ? ",packed_by" : "";
  text += columns.has_routes ? ",route" : "";
  text += '\n';
  for (const Row &row : rows) {
    if (row.series.empty()) {
      const std::size_t n_empty = 12 + options.percentiles.size() + columns.extras.size() +
                                  (columns.has_packing ? 1 : 0) + (columns.has_routes ? 1 : 0);
      text += start_of(options, row) + std::string(n_empty, ',') + '\n';
    }
    for (const Series &series : row.series) {
      for (std::size_t block = 0; block < series.blocks.size(); ++block) {
        text += start_of(options, row);
        text += fmt::format(",{},{},{}", series.name, block, metric_unit(options.test->metric));
        text += figures_of(series.blocks[block]);
        for (const double value : series.blocks[block].percentiles) {
          text += fmt::format(",{}", value);
        }
        for (std::size_t i = 0; i < columns.extras.size(); ++i) {
          text += i < row.extras.size() ? fmt::format(",{}", row.extras[i]) : ",";
        }
        text += columns.has_packing ? "," + row.packed_by : "";
        text += columns.has_routes ? "," + route_word(row) : "";
        text += '\n';
      }
    }
  }
  return text;
}

}  // namespace sluice::bench
