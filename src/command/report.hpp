// SPDX-License-Identifier: BSD-3-Clause
// `sluice report`: a page of sluice-bench's results (docs/benchmarks.md).
#pragma once

#include <string>
#include <vector>

namespace sluice::command {

// Becomes the script that `sluice-bench report` is, with these words. Returns only when it cannot be started: the exit
// status, after one line on standard error.
[[nodiscard]] int report(const std::vector<std::string> &words);

}  // namespace sluice::command
