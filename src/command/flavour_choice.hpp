// SPDX-License-Identifier: BSD-3-Clause
// Which flavour of libsluice a command line needs. All of it: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "command/flavour.hpp"
#include "command/launcher.hpp"

namespace sluice::command {

struct FlavourChoice {
  Flavour flavour = Flavour::kMpich;
  std::string rule;  // for people: what decided
};

// Looks at the words of `command` in this order: a program linked to an MPI; a Python interpreter or script, by the MPI
// that its mpi4py is linked to; any other script, by the launcher's own MPI. Errors: nothing of the command is an MPI
// program, two programs need different flavours, or the MPI's interface is unknown; the text says what to do.
Status choose_flavour(const std::vector<std::string> &command, const std::optional<Launcher> &launcher,
                      FlavourChoice *choice);

// Whether a program of `command` is linked to no MPI, so that it loads one later and looks its functions up: an
// interpreter, say. False where a shell is started, which does not tell what it starts.
[[nodiscard]] bool looks_functions_up(const std::vector<std::string> &command, const std::optional<Launcher> &launcher);

// Where the programs of `command` begin, one of each part of an MPMD command, in ascending order: the word that names a
// program linked to an MPI, else a script or an interpreter, else the first that can be run. Errors: a part has none.
Status find_programs(const std::vector<std::string> &command, const std::optional<Launcher> &launcher,
                     std::vector<std::size_t> *positions);

}  // namespace sluice::command
