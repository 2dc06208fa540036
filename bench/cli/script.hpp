// SPDX-License-Identifier: BSD-3-Clause
// Subcommands that are scripts and no measurements: compare, report, paper.
#pragma once

#include <string>
#include <vector>

namespace sluice::bench {

// True when the first argument (behind the program's name) names a script.
bool is_script(const std::vector<std::string> &command);

// Becomes the script: returns only when it cannot be started, with the line that says why. MPI must not have been
// started.
std::string run_script(const std::vector<std::string> &command);

}  // namespace sluice::bench
