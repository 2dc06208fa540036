// SPDX-License-Identifier: BSD-3-Clause
// The launcher in a command line: mpiexec and its kin, which start the ranks of a program. All of it: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command/flavour.hpp"

namespace sluice::command {

enum class LauncherKind : std::uint8_t {
  kOpenMpi,  // hands variables to ranks on other nodes only when told (-x NAME)
  kHydra,    // MPICH's and its derivatives'; hands on its whole environment
  kOther     // another one, such as a batch system's
};

struct Launcher {
  std::size_t position = 0;  // in the command
  LauncherKind kind = LauncherKind::kOther;
  std::filesystem::path path;
  std::string version;  // what it says of itself, first line; empty when it was not asked
};

// The first word of the command that is a launcher; empty when there is none. A launcher whose file name does not tell
// its kind is asked for its version, which takes some 10 ms.
[[nodiscard]] std::optional<Launcher> find_launcher(const std::vector<std::string> &command);

// The flavour of the MPI that a launcher usually comes with; empty for kOther.
[[nodiscard]] std::optional<Flavour> flavour_of(LauncherKind kind) noexcept;

// The command with `names` handed on to the ranks, for launchers that must be told; those named already are left out.
[[nodiscard]] std::vector<std::string> with_variables(const std::vector<std::string> &command, const Launcher &launcher,
                                                      const std::vector<std::string> &names);

}  // namespace sluice::command
