// SPDX-License-Identifier: BSD-3-Clause
#include "command/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ranges>
#include <sstream>
#include <utility>

#include "base/log.hpp"
#include "command/bind_rule.hpp"
#include "command/flavour_choice.hpp"
#include "command/installation.hpp"
#include "command/launcher.hpp"
#include "command/place_program.hpp"

namespace sluice::command {
namespace {

constexpr int kWrongRequest = 2;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;
constexpr const char *kPreload = "LD_PRELOAD";

Status wrong(std::string text) {
  return Status::error(ErrorKind::kInvalidArgument, std::move(text));
}

// Every name of the list must be a module that is there; `auto` and `none` are words of their own.
Status check_backends(const std::string &backends, const Installation &installation) {
  if (backends == "none") return {};
  if (installation.modules.empty()) {
    return wrong(
        fmt::format("no backend in {}: build or install one, point SLUICE_BACKEND_PATH at the modules, or run "
                    "with --backend none to do without",
                    installation.module_folder));
  }
  if (backends.empty() || backends == "auto") return {};
  std::istringstream words(backends);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::none_of(installation.modules.begin(), installation.modules.end(),
                     [&word](const device::Module &module) { return module.name == word; })) {
      return wrong(fmt::format("unknown backend \"{}\": {} holds {}", word, installation.module_folder,
                               module_names(installation)));
    }
  }
  return {};
}

Status find_flavour(const RunRequest &request, const std::optional<Launcher> &launcher, FlavourChoice *choice) {
  if (request.mpi == "auto") return choose_flavour(request.command, launcher, choice);
  const std::optional<Flavour> named = flavour_named(request.mpi);
  if (!named) return wrong(fmt::format("--mpi {}: wanted auto, mpich, ompi or abi", request.mpi));
  *choice = {*named, fmt::format("--mpi {}", request.mpi)};
  return {};
}

Status find_library(const FlavourChoice &choice, const Installation &installation, std::string *library) {
  const auto found = installation.libraries.find(choice.flavour);
  if (found == installation.libraries.end()) {
    return wrong(
        fmt::format("{}, but libsluice_{}.so is not in {}: build that flavour, or say where it is with "
                    "--lib-dir",
                    choice.rule, name(choice.flavour), installation.library_folder.string()));
  }
  *library = found->second.string();
  if (library->find_first_of(" :") != std::string::npos) {
    return wrong(
        fmt::format("{}: the loader splits LD_PRELOAD at blanks and colons, so the library's folder must have "
                    "neither: install Sluice elsewhere",
                    *library));
  }
  return {};
}

// `library` in front of what is preloaded already, once.
std::string preloaded(const std::string &library, const std::string &existing) {
  if (existing.empty()) return library;
  return existing == library || existing.starts_with(library + ":") ? existing : library + ":" + existing;
}

// A command may set LD_PRELOAD for its ranks itself (env LD_PRELOAD=..., -x LD_PRELOAD=..., -genv LD_PRELOAD ...),
// which would hide ours: it gets the library too.
void extend_own_preloads(const std::string &library, std::vector<std::string> *command) {
  const std::string assignment = std::string(kPreload) + "=";
  for (std::size_t i = 0; i < command->size(); ++i) {
    std::string &word = (*command)[i];
    if (word.starts_with(assignment)) {
      word.replace(assignment.size(), std::string::npos, preloaded(library, word.substr(assignment.size())));
    } else if (i > 0 && i + 1 < command->size() && word == kPreload &&
               ((*command)[i - 1] == "-env" || (*command)[i - 1] == "-genv")) {
      (*command)[i + 1] = preloaded(library, (*command)[i + 1]);
    }
  }
}

// The SLUICE_* variables of this process and those to be set.
std::vector<std::string> variables_to_hand_on(const std::map<std::string, std::string> &to_set) {
  std::vector<std::string> names;
  names.reserve(to_set.size());
  for (const auto &[name, value] : to_set) names.push_back(name);
  for (char **entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (name.starts_with("SLUICE_") && to_set.count(name) == 0) names.push_back(name);
  }
  return names;
}

// Each rank binds itself, on its own node: what follows a launcher's options goes through the program that does.
Status add_binding(const RunRequest &request, const Installation &installation, const std::string &backends,
                   const std::optional<Launcher> &launcher, std::vector<std::string> *command) {
  BindRule rule;
  if (Status status = parse_bind_rule(request.bind, &rule); !status.is_ok()) return status;
  if (rule.kind == BindKind::kNone) return {};
  std::vector<std::size_t> positions = {0};
  if (launcher) {
    if (Status status = find_programs(*command, launcher, &positions); !status.is_ok()) return status;
  }
  const std::vector<std::string> words = {place_program(),
                                          "run",
                                          "--lib-dir",
                                          installation.library_folder.string(),
                                          "--backend",
                                          backends.empty() ? "auto" : backends,
                                          "--bind",
                                          request.bind,
                                          "--"};
  for (const std::size_t position : std::ranges::reverse_view(positions)) {
    command->insert(command->begin() + static_cast<std::ptrdiff_t>(position), words.begin(), words.end());
  }
  return {};
}

}  // namespace

Status plan_launch(const RunRequest &request, Launch *launch) {
  if (request.command.empty()) return wrong("no command: sluice run [options] -- mpiexec -n 4 ./app");
  const Installation installation = find_installation(request.library_folder);
  const char *named = std::getenv("SLUICE_BACKENDS");
  const std::string backends = request.backends.empty() && named != nullptr ? named : request.backends;
  if (Status status = check_backends(backends, installation); !status.is_ok()) return status;

  const std::optional<Launcher> launcher = find_launcher(request.command);
  FlavourChoice choice;
  if (Status status = find_flavour(request, launcher, &choice); !status.is_ok()) return status;
  std::string library;
  if (Status status = find_library(choice, installation, &library); !status.is_ok()) return status;

  const char *existing = std::getenv(kPreload);
  launch->rule = choice.rule;
  launch->environment[kPreload] = preloaded(library, existing != nullptr ? existing : "");
  if (!request.backends.empty()) launch->environment["SLUICE_BACKENDS"] = request.backends;
  if (request.wants_statistics) launch->environment["SLUICE_STATS"] = "1";
  launch->command = request.command;
  extend_own_preloads(library, &launch->command);
  if (Status status = add_binding(request, installation, backends, launcher, &launch->command); !status.is_ok()) {
    return status;
  }
  if (launcher) {
    launch->command = with_variables(launch->command, *launcher, variables_to_hand_on(launch->environment));
  }
  return {};
}

int run(const RunRequest &request) {
  Launch launch;
  if (const Status status = plan_launch(request, &launch); !status.is_ok()) {
    fmt::print(stderr, "sluice run: {}\n", status.message());
    return kWrongRequest;
  }
  log::debug("command", fmt::format("preloads {} because {}", launch.environment[kPreload], launch.rule));
  for (const auto &[name, value] : launch.environment) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) {
      fmt::print(stderr, "sluice run: cannot set {}: {}\n", name, std::strerror(errno));
      return kCannotRun;
    }
  }
  std::vector<char *> words;
  words.reserve(launch.command.size() + 1);
  for (std::string &word : launch.command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  fmt::print(stderr, "sluice run: cannot start {}: {}; check the command's first word\n", words[0],
             std::strerror(error));
  return error == ENOENT ? kNotFound : kCannotRun;
}

}  // namespace sluice::command
