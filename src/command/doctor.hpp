// SPDX-License-Identifier: BSD-3-Clause
// `sluice doctor`: becomes an MPI program (bench/doctor) that looks at the ranks of a job and at the ways between them.
// This program is linked to no MPI, so it finds out which MPI is meant, and starts the program of that flavour.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "command/doctor_facts.hpp"
#include "command/started_by.hpp"

namespace sluice::command {

struct DoctorWords {
  std::string mpi = "auto";  // or a flavour's name
  std::string backend;       // whose devices are looked at; empty: the first with a device
  bool wants_json = false;
  std::optional<int> job;       // looks from outside at what this process and those below it wait for
  bool leaves_preload = false;  // looks at the ranks as they are
  std::string library_folder;   // as in find_installation
};

// The flavours to try, in this order. `launcher`: of the launcher that PATH leads to, for a process that none started.
// Pure.
[[nodiscard]] std::vector<Flavour> flavours_to_try(const std::optional<StartedBy> &starter,
                                                   const std::optional<Flavour> &preloaded_one,
                                                   const std::optional<Flavour> &launcher);

// Becomes the program. Returns only when that failed, with the exit status 2; the reason is on standard error. One
// thread: it sets a variable of the environment, and may ask a launcher for its version.
[[nodiscard]] int examine(const DoctorWords &words);

}  // namespace sluice::command
