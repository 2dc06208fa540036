// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with the SLUICE_* variables of this process's environment. All of it: any thread.
#pragma once

#include <string>
#include <vector>

#include "device/modules.hpp"

namespace sluice::command {

// The entries "NAME=value" of the environment whose name begins with SLUICE_, sorted; without those by which
// sluice-bench talks to its own ranks.
[[nodiscard]] std::vector<std::string> sluice_variables();

// A sentence for each variable that is neither a knob nor begins with the name of one of these backends.
[[nodiscard]] std::vector<std::string> unknown_variables(const std::vector<device::Module> &modules);

// A sentence for each knob with a value that it cannot have, for each wrong word of SLUICE_TUNING, and for each tuning
// table that cannot be used. Reads the tables.
[[nodiscard]] std::vector<std::string> wrong_values();

}  // namespace sluice::command
