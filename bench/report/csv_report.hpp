// SPDX-License-Identifier: BSD-3-Clause
// The CSV file of a run: a line for each size, series and block.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/report/row.hpp"

namespace sluice::bench {

// The whole text. The first line names the columns; docs/benchmark-results.md says what they hold. Numbers have a point
// and no thousands separators, whatever the locale.
std::string csv_document(const Options &options, const Columns &columns, const std::vector<Row> &rows);

}  // namespace sluice::bench
