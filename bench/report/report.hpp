// SPDX-License-Identifier: BSD-3-Clause
// Where results go: the text table on stdout as rows come in, the JSON file at the end. Rank 0 alone writes.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/report/json_report.hpp"
#include "bench/report/progress.hpp"
#include "bench/report/row.hpp"
#include "bench/report/table.hpp"

namespace sluice::bench {

class Report {
 public:
  // is_writer: this is rank 0; on other ranks nothing is written. options outlive the report.
  Report(const Options &options, bool is_writer);

  // Opens the JSON file, so that a name that cannot be written is known before anything is measured. Returns the
  // reason, "" when all is well or no file is asked for.
  std::string open() const;

  // Prints the heading.
  void begin(RunRecord run, Columns columns);
  // Prints and keeps a row.
  void add(Row row);
  // Writes the JSON file; failure: why the run ended early, "" when it did not. Returns an error text, "" when written.
  std::string finish(const std::string &failure);

 private:
  void print_rank(std::size_t rank) const;

  const Options &options_;
  bool is_writer_;
  Table table_;
  Progress progress_;
  RunRecord run_;
  Columns columns_;
  std::vector<Row> rows_;
};

}  // namespace sluice::bench
