// SPDX-License-Identifier: BSD-3-Clause
// `sluice report` and `sluice tune`: scripts that come with sluice-bench (docs/benchmarks.md, docs/tuning.md).
#pragma once

#include <string>
#include <vector>

namespace sluice::command {

// Becomes the script of that name in libexec/sluice-bench, with these words. Returns only when it cannot be started:
// the exit status, after one line on standard error. Any thread; the others end with this program.
[[nodiscard]] int run_script(const std::string &name, const std::vector<std::string> &words);

}  // namespace sluice::command
