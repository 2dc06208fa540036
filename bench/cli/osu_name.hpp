// SPDX-License-Identifier: BSD-3-Clause
// The program under a name of OSU's: scripts that start osu_latency find the test behind a link of that name.
#pragma once

#include <string>
#include <vector>

namespace sluice::bench {

// The arguments behind the program's name. Under a name osu_TEST (a link to this program) TEST stands before them, and
// without -d the placement words mean host memory, as in OSU's programs, which do not look at them then.
std::vector<std::string> arguments_of(const std::vector<std::string> &command);

}  // namespace sluice::bench
