// SPDX-License-Identifier: BSD-3-Clause
// `sluice run --bind` as it happens in each rank.
#pragma once

#include <string>
#include <vector>

#include "command/installation.hpp"

namespace sluice::command::place {

// Binds this process to the cores of its seat and becomes `command`. Returns only when it does not: 2 for a list that
// does not fit, 126 or 127 as a shell has them; the reason is on standard error. Where the cores near the device are
// not known, or the system refuses them, a line says so and the command runs unbound. Of a wrong list one rank of the
// node speaks, the lowest that it concerns; those after it go on and end when the launcher ends them. One thread: it
// binds all of the process, and the others end with it.
[[nodiscard]] int start_bound(const Installation &installation, const std::string &backends, const std::string &bind,
                              std::vector<std::string> command);

}  // namespace sluice::command::place
