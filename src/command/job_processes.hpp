// SPDX-License-Identifier: BSD-3-Clause
// Finds the processes of a job in /proc, and looks at their tables of waits. All of it: any thread.
#pragma once

#include <optional>
#include <vector>

#include "command/job.hpp"

namespace sluice::command {

// `pid` and all below it that use MPI, by rank; none where there is no such process. kOwnProcesses: all of this user on
// this node. Blocks for the time between two looks at each table.
[[nodiscard]] std::optional<std::vector<JobProcess>> look_at_job(int pid);

}  // namespace sluice::command
