// SPDX-License-Identifier: BSD-3-Clause
// Subcommands that are scripts.
#include "bench/cli/script.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

struct Script {
  const char *word;
  const char *file;
};
constexpr std::array kScripts{Script{"compare", "compare_runs.py"}, Script{"report", "report_runs"},
                              Script{"paper", "paper_figures"}};

const Script *find_script(const std::vector<std::string> &command) {
  const auto *found = std::find_if(kScripts.begin(), kScripts.end(), [&](const Script &script) {
    return command.size() > 1 && command[1] == script.word;
  });
  return found != kScripts.end() ? found : nullptr;
}

}  // namespace

bool is_script(const std::vector<std::string> &command) {
  return find_script(command) != nullptr;
}

std::string run_script(const std::vector<std::string> &command) {
  const Script *const script = find_script(command);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  // Installed there, and in a build folder a link to the sources.
  std::string path = program.parent_path().parent_path() / "libexec" / "sluice-bench" / script->file;
  if (!fs::exists(path, error)) {
    return fmt::format("{}: {} is not there: run it from a build folder of the sources", script->word, path);
  }
  std::vector<std::string> words(command.begin() + 2, command.end());
  std::vector<char *> arguments{path.data()};
  std::transform(words.begin(), words.end(), std::back_inserter(arguments),
                 [](std::string &word) { return word.data(); });
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
  return fmt::format("{}: {} cannot be started: {}", script->word, path, std::strerror(errno));
}

}  // namespace sluice::bench
