// SPDX-License-Identifier: BSD-3-Clause
#include "command/launcher.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "command/child_process.hpp"
#include "command/library_search.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

bool is_launcher_name(std::string_view leaf) {
  constexpr std::array<std::string_view, 8> kOthers = {"orterun", "prterun", "prun", "srun",
                                                       "aprun",   "jsrun",   "flux", "ibrun"};
  return leaf.starts_with("mpiexec") || leaf.starts_with("mpirun") ||
         std::find(kOthers.begin(), kOthers.end(), leaf) != kOthers.end();
}

std::string first_line(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

void identify(Launcher *launcher) {
  std::error_code ignored;
  const std::string leaf = fs::weakly_canonical(launcher->path, ignored).filename().string();
  if (leaf == "orterun" || leaf == "prterun" || leaf == "prun") {
    launcher->kind = LauncherKind::kOpenMpi;
    return;
  }
  if (!leaf.starts_with("mpi")) return;
  if (leaf.find("hydra") != std::string::npos) {
    launcher->kind = LauncherKind::kHydra;
    return;
  }
  const std::string said = output_of({launcher->path.string(), "--version"}).value_or("");
  launcher->version = first_line(said);
  if (said.find("Open MPI") != std::string::npos || said.find("OpenRTE") != std::string::npos) {
    launcher->kind = LauncherKind::kOpenMpi;
  } else if (said.find("HYDRA") != std::string::npos || said.find("Intel(R) MPI") != std::string::npos ||
             said.find("MPICH") != std::string::npos) {
    launcher->kind = LauncherKind::kHydra;
  }
}

}  // namespace

std::optional<Launcher> find_launcher(const std::vector<std::string> &command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (!is_launcher_name(fs::path(command[i]).filename().string())) continue;
    const std::optional<fs::path> path = find_program(command[i]);
    if (!path) continue;
    Launcher launcher{i, LauncherKind::kOther, *path, ""};
    identify(&launcher);
    return launcher;
  }
  return std::nullopt;
}

std::optional<Flavour> flavour_of(LauncherKind kind) noexcept {
  switch (kind) {
    case LauncherKind::kOpenMpi:
      return Flavour::kOmpi;
    case LauncherKind::kHydra:
      return Flavour::kMpich;
    case LauncherKind::kOther:
      break;
  }
  return std::nullopt;
}

std::vector<std::string> with_variables(const std::vector<std::string> &command, const Launcher &launcher,
                                        const std::vector<std::string> &names) {
  if (launcher.kind != LauncherKind::kOpenMpi) return command;
  const auto is_named = [&command](const std::string &name) {
    for (std::size_t i = 0; i + 1 < command.size(); ++i) {
      if (command[i] == "-x" && (command[i + 1] == name || command[i + 1].starts_with(name + "="))) return true;
    }
    return false;
  };
  std::vector<std::string> result(command.begin(),
                                  command.begin() + static_cast<std::ptrdiff_t>(launcher.position) + 1);
  for (const std::string &name : names) {
    if (!is_named(name)) result.insert(result.end(), {"-x", name});
  }
  result.insert(result.end(), command.begin() + static_cast<std::ptrdiff_t>(launcher.position) + 1, command.end());
  return result;
}

}  // namespace sluice::command
