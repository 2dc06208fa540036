// SPDX-License-Identifier: BSD-3-Clause
#include "command/host_mpis.hpp"

#include <dlfcn.h>

#include <array>
#include <optional>
#include <set>
#include <system_error>

#include "command/child_process.hpp"
#include "command/library_search.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

// MPI_MAX_LIBRARY_VERSION_STRING is at most 8192 in the interfaces known here.
constexpr std::size_t kVersionBytes = 8192 + 1;

std::string first_line(const std::string &text) {
  std::string line = text.substr(0, text.find('\n'));
  for (char &c : line) {
    if (c == '\t') c = ' ';
  }
  return line;
}

// MPI_Get_library_version may be called before MPI_Init.
std::string version_of_library(const fs::path &library) {
  const std::optional<std::string> answer = answer_of_fork([&library]() -> std::string {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return "";
    using Function = int (*)(char *, int *);
    const auto function = reinterpret_cast<Function>(dlsym(handle, "MPI_Get_library_version"));
    std::array<char, kVersionBytes> text{};
    int length = 0;
    if (function == nullptr || function(text.data(), &length) != 0) return "";
    return text.data();
  });
  return first_line(answer.value_or(""));
}

// Names as programs need them; links without a number are for compilers.
bool is_loadable_name(const std::string &leaf) {
  static const std::set<std::string> names = {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi_abi.so.0",
                                              "libmpi_abi.so.1"};
  return names.count(leaf) != 0;
}

}  // namespace

std::vector<FoundLauncher> find_launchers() {
  std::vector<FoundLauncher> launchers;
  std::set<fs::path> seen;
  for (const char *word : {"mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.mpich", "mpirun.openmpi"}) {
    const std::optional<fs::path> path = find_program(word);
    std::error_code ignored;
    if (!path || !seen.insert(fs::weakly_canonical(*path, ignored)).second) continue;
    launchers.push_back({*path, first_line(output_of({path->string(), "--version"}).value_or(""))});
  }
  return launchers;
}

std::vector<HostMpi> find_host_mpis() {
  std::vector<fs::path> folders = loader_folders();
  for (const char *word : {"mpiexec", "mpirun"}) {
    const std::optional<fs::path> launcher = find_program(word);
    if (launcher) folders.push_back(launcher->parent_path().parent_path() / "lib");
  }
  std::vector<HostMpi> found;
  std::set<fs::path> seen;
  for (const fs::path &folder : folders) {
    std::error_code ignored;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored)) {
      const std::string leaf = entry.path().filename().string();
      const std::optional<Flavour> flavour = flavour_of_library(leaf);
      if (!is_loadable_name(leaf) || !flavour.has_value()) continue;
      const fs::path file = fs::weakly_canonical(entry.path(), ignored);
      if (seen.insert(file).second) found.push_back({entry.path(), *flavour, version_of_library(file)});
    }
  }
  return found;
}

}  // namespace sluice::command
