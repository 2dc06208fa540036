// SPDX-License-Identifier: BSD-3-Clause
// `sluice trace merge`: the traces of several ranks on one time axis (docs/trace.md). All of it: any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace sluice::command {

// Joins traces, each the text of a file that SLUICE_TRACE made; their times are moved to the axis of the one that
// begins first. `names` are the files' names, for errors. Errors: kInvalidArgument: a text is no such trace; *merged is
// as it was.
[[nodiscard]] Status merge_traces(const std::vector<std::string> &names, const std::vector<std::string> &texts,
                                  std::string *merged);

// The whole command: reads `files`, writes `output` or, when that is empty, standard output. Returns the exit status;
// an error is one line on standard error.
[[nodiscard]] int merge_traces(const std::vector<std::string> &files, const std::string &output);

}  // namespace sluice::command
