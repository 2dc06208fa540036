// SPDX-License-Identifier: BSD-3-Clause
// What `sluice doctor` preloads into the program that it becomes. All of it: any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "command/flavour.hpp"
#include "command/installation.hpp"

namespace sluice::command {

struct DoctorPreload {
  std::string list;     // LD_PRELOAD for the program; empty: nothing
  std::string by;       // who named the library: "doctor", "you" (it stood in LD_PRELOAD) or "nobody"
  std::string library;  // of Sluice; empty: none
  std::string problem;  // why another one, or none; empty: all is well
};

// The flavour of the library of Sluice that a list LD_PRELOAD names; empty when it names none.
[[nodiscard]] std::optional<Flavour> preloaded_flavour(const std::string &list);

// A library of Sluice that `existing` names for this flavour is kept. One of another flavour is left out, because it
// would spoil the program. `adds`: whether the installation's library is added where none is named. `program`: what is
// to be started, of which the sanitizers' runtimes come first.
[[nodiscard]] DoctorPreload plan_doctor_preload(const std::string &existing, Flavour flavour,
                                                const Installation &installation, const std::filesystem::path &program,
                                                bool adds);

}  // namespace sluice::command
