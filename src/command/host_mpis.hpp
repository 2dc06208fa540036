// SPDX-License-Identifier: BSD-3-Clause
// The host MPIs of this machine, for `sluice info`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command/flavour.hpp"

namespace sluice::command {

struct HostMpi {
  std::filesystem::path library;
  Flavour flavour = Flavour::kMpich;
  std::string version;  // the first line of MPI_Get_library_version; empty when the library did not answer
};

struct FoundLauncher {
  std::filesystem::path path;
  std::string version;  // the first line of what `--version` prints; may be empty
};

// Every MPI library that a program could be loaded with: in the folders of the loader and beside the launchers on PATH.
// Each is loaded and asked for its version in a child process, so call it while the process has one thread.
[[nodiscard]] std::vector<HostMpi> find_host_mpis();

// mpiexec, mpirun and their variants on PATH, each file once. Any thread.
[[nodiscard]] std::vector<FoundLauncher> find_launchers();

}  // namespace sluice::command
