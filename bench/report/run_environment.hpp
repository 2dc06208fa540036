// SPDX-License-Identifier: BSD-3-Clause
// The environment variables that can change a result.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sluice::bench {

// Whether a variable of this name belongs into a result: those of Sluice, of MPIs and their launchers, of fabrics, of
// device runtimes and their collectives, of threads and their binding. Never one whose name says that it holds a
// secret.
bool can_change_results(std::string_view name);

// Those that this process has, by name. Not while another thread changes the environment.
std::map<std::string, std::string> query_run_environment();

}  // namespace sluice::bench
