// SPDX-License-Identifier: BSD-3-Clause
// What `sluice doctor` knows of a rank before MPI is there: the program that it becomes is handed it as a JSON text.
// All of it: any thread.
#pragma once

#include <optional>
#include <string>

#include "command/doctor_preload.hpp"
#include "command/flavour.hpp"
#include "command/installation.hpp"
#include "command/started_by.hpp"

namespace sluice::command {

struct DoctorFacts {
  Flavour flavour = Flavour::kMpich;
  std::string rule;  // why this flavour
  std::optional<StartedBy> starter;
  std::string start_line;  // alone: what to run to see several ranks
  DoctorPreload preload;
  Installation installation;
};

// What is wrong with /dev/shm for MPIs, in a sentence with the remedy; "" when nothing is.
[[nodiscard]] std::string shared_memory_problem();

// One JSON object: these, the SLUICE_* variables and what is wrong with them, the backends that are there with the
// variables that hide devices, and this process's limits. Milliseconds, for it looks for runtimes in the folders of the
// dynamic linker.
[[nodiscard]] std::string to_json(const DoctorFacts &facts);

}  // namespace sluice::command
