// SPDX-License-Identifier: BSD-3-Clause
#include "command/installation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

#include "base/knobs.hpp"

namespace sluice::command {

namespace fs = std::filesystem;

Installation find_installation(const std::string &library_folder) {
  std::error_code ignored;
  Installation installation;
  installation.library_folder =
      library_folder.empty() ? device::own_library_folder() : fs::absolute(library_folder, ignored);
  for (const Flavour flavour : {Flavour::kMpich, Flavour::kOmpi, Flavour::kAbi}) {
    const fs::path file = installation.library_folder / fmt::format("libsluice_{}.so", name(flavour));
    if (fs::is_regular_file(file, ignored)) installation.libraries.emplace(flavour, file);
  }
  installation.module_folder = Knobs::process().text("SLUICE_BACKEND_PATH");
  if (installation.module_folder.empty()) installation.module_folder = installation.library_folder / "sluice";
  installation.modules = device::find_modules(installation.module_folder, &installation.problems);
  return installation;
}

std::string module_names(const Installation &installation) {
  std::vector<std::string> names;
  names.reserve(installation.modules.size());
  for (const device::Module &module : installation.modules) names.push_back(module.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace sluice::command
