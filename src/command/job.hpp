// SPDX-License-Identifier: BSD-3-Clause
// `sluice doctor --job PID`: says what the ranks of a running job wait for, from outside (docs/adr/0082).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "command/wait_table.hpp"

namespace sluice::command {

// Stands for the number of a process: all processes of this user on this node.
inline constexpr int kOwnProcesses = 0;

// A process that uses MPI.
struct JobProcess {
  enum class Standing {
    kTable,     // Sluice tells what it waits for
    kNoTable,   // it has Sluice, but no table: MPI is not in use, or Sluice is off
    kNoSluice,  // it has an MPI, and no Sluice
    kClosed     // the kernel does not let us look
  };
  int pid = 0;
  Standing standing = Standing::kNoSluice;
  char state = '?';  // of its main thread, as the kernel names it
  WaitTable table;   // of kTable
};

// The sentences that follow with certainty from what all processes wait for. Pure.
[[nodiscard]] std::vector<std::string> conclude(const std::vector<JobProcess> &processes);

// What is printed. `now_ns`: of the monotonic clock. Pure.
[[nodiscard]] std::string job_text(const std::vector<JobProcess> &processes, std::int64_t now_ns);
[[nodiscard]] std::string job_json(const std::vector<JobProcess> &processes, std::int64_t now_ns);

// Prints what `pid` and the processes below it wait for, or all of kOwnProcesses. Returns the exit status: 0 nobody
// waits in Sluice, 1 somebody does, 2 there is no such process, or none that uses MPI. Blocks for the time between two
// looks. One thread.
[[nodiscard]] int examine_job(int pid, bool wants_json);

}  // namespace sluice::command
