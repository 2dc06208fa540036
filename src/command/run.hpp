// SPDX-License-Identifier: BSD-3-Clause
// `sluice run`: starts a command with the libsluice that fits its MPI preloaded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace sluice::command {

struct RunRequest {
  std::vector<std::string> command;
  std::string backends;       // SLUICE_BACKENDS for the command; empty: as the environment says
  std::string mpi = "auto";   // auto or a flavour's name
  std::string bind = "none";  // parse_bind_rule
  bool wants_statistics = false;
  std::string library_folder;  // empty: beside this program
};

// What is to be started.
struct Launch {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // variables to be set
  std::string rule;                                // how the flavour was found
  std::vector<std::string> warnings;               // programs that will run without Sluice
};

// Works out what to start. Starts nothing but short questions to launchers and Python. Any thread. Errors: there is no
// command, backend, flavour or library of that name, no such binding, or a program that nothing can be preloaded into;
// the text says what to do.
Status plan_launch(const RunRequest &request, Launch *launch);

// Replaces this process by the command, so that its exit status is the command's. Returns only when that failed, with
// the exit status to end with: 127 when the command was not found, 126 when it cannot be run, 2 for a wrong request;
// the reason is on standard error. One thread: it sets variables of the environment.
[[nodiscard]] int run(const RunRequest &request);

}  // namespace sluice::command
