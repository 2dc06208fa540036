// SPDX-License-Identifier: BSD-3-Clause
// Where this program's libraries and backend modules lie. All of it: any thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "command/flavour.hpp"
#include "device/registry.hpp"

namespace sluice::command {

struct Installation {
  std::filesystem::path library_folder;                // absolute
  std::map<Flavour, std::filesystem::path> libraries;  // those that are there
  std::string module_folder;
  std::vector<device::Module> modules;  // by priority
  std::vector<Status> problems;         // met while looking for modules
};

// Looks into `library_folder`, or, when it is empty, into device::own_library_folder(). Modules are looked for
// in SLUICE_BACKEND_PATH, or in sluice/ inside the library folder.
[[nodiscard]] Installation find_installation(const std::string &library_folder);

// "first, second"; "none" when there are none.
[[nodiscard]] std::string module_names(const Installation &installation);

}  // namespace sluice::command
