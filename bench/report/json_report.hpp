// SPDX-License-Identifier: BSD-3-Clause
// The JSON file of a run. docs/benchmark-results.md documents the schema; raise kSchemaVersion when a member changes
// meaning.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/report/row.hpp"

namespace sluice::bench {

inline constexpr int kSchemaVersion = 2;

// What is known of a run besides its rows.
struct RunRecord {
  std::vector<std::string> command;  // program name and arguments
  std::string mpi_library;           // MPI_Get_library_version
  std::string mpi_standard;          // "3.1"
  nlohmann::json ranks;              // one object for each rank: host, device, memory
  std::vector<std::string> notes;    // lines that the heading printed as notes
  double clock_cost_ns = 0;
};

// The whole document. failure: empty for a run that ended well.
nlohmann::json json_document(const Options &options, const RunRecord &run, const Columns &columns,
                             const std::vector<Row> &rows, const std::string &failure);

// Version of this program and the commit it was built from ("" when built outside a git checkout).
const char *program_version();
const char *program_commit();

}  // namespace sluice::bench
