// SPDX-License-Identifier: BSD-3-Clause
#include "command/run.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/environment.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "command/bind_rule.hpp"
#include "command/flavour_choice.hpp"
#include "command/installation.hpp"
#include "command/launcher.hpp"
#include "command/library_search.hpp"
#include "command/place_program.hpp"
#include "command/preload.hpp"
#include "command/preload_reach.hpp"

namespace sluice::command {
namespace {

constexpr int kWrongRequest = 2;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;
constexpr const char *kAudit = "LD_AUDIT";

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
      return wrong(fmt::format("unknown backend \"{}\"; name one of those there: {} holds {}", word,
                               installation.module_folder, module_names(installation)));
    }
  }
  return {};
}

Status find_flavour(const RunRequest &request, const std::optional<Launcher> &launcher, FlavourChoice *choice) {
  if (request.mpi == "auto") return choose_flavour(request.command, launcher, choice);
  const std::optional<Flavour> named = flavour_named(request.mpi);
  if (!named) return wrong(fmt::format("--mpi {}: no such MPI; give auto, mpich, ompi or abi", request.mpi));
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

// The audit library by which programs find Sluice that look MPI's functions up in its library's handle (ADR 0063);
// empty where it is not to be used. Before glibc 2.35 every call of an audited process between libraries took a detour.
std::string lookup_library(const Installation &installation, const std::vector<std::string> &command,
                           const std::optional<Launcher> &launcher) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) != 2) return "";
  if (major == 2 && minor < 35) return "";
  std::error_code ignored;
  const std::filesystem::path library = installation.library_folder / "sluice" / "libsluice_lookup.so";
  if (!std::filesystem::is_regular_file(library, ignored) || !looks_functions_up(command, launcher)) return "";
  return library.string();
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

// Whether the words [begin, end) in front of a program have `env` take LD_PRELOAD away.
bool is_preload_cleared(const std::vector<std::string> &command, std::size_t begin, std::size_t end) {
  bool is_env = false;
  bool is_cleared = false;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string &word = command[i];
    is_env |= word == "env" || word.ends_with("/env");
    if (!is_env) continue;
    is_cleared |= word == "-i" || word == "-" || word == "--ignore-environment" || word == "-uLD_PRELOAD" ||
                  word == "--unset=LD_PRELOAD" || (word == "-u" && i + 1 < end && command[i + 1] == kPreload);
    if (word.starts_with(std::string(kPreload) + "=")) return false;  // and gets it again (extend_own_preloads)
  }
  return is_cleared;
}

// Refuses programs that nothing can be preloaded into, and warns of those that it may be and of words in front of one
// that keep it away. A rank without Sluice among others with it is more than that rank's loss: see docs/adr/0064.
Status check_reach(const std::vector<std::string> &command, const std::optional<Launcher> &launcher,
                   std::vector<std::string> *warnings) {
  std::vector<std::size_t> positions;
  // Only --mpi gets so far without one, and then whoever wrote the command knows best.
  if (!find_programs(command, launcher, &positions).is_ok()) return {};
  std::size_t begin = launcher ? launcher->position + 1 : 0;
  for (const std::size_t position : positions) {
    const std::string &program = command[position];
    const std::filesystem::path path = find_program(program).value_or(program);
    if (const std::string why = why_preload_is_dropped(path); !why.empty()) {
      return wrong(
          fmt::format("{} {}, so the loader preloads nothing into it and it would run without Sluice: give it its "
                      "rights in another way, or run the command without Sluice",
                      program, why));
    }
    // It may be what starts the MPI program.
    if (is_static(path)) warnings->push_back(program + " is statically linked, so it runs without Sluice itself");
    const auto warn = [&](const std::string &why) {
      warnings->push_back(fmt::format("{}, so {} runs without Sluice", why, program));
    };
    for (std::size_t i = begin; i < position; ++i) {
      const std::optional<std::filesystem::path> wrapper = find_program(command[i]);
      const std::string why = wrapper ? why_preload_is_dropped(*wrapper) : "";
      if (!why.empty()) warn(fmt::format("{} {} and hands no LD_PRELOAD on", command[i], why));
    }
    if (is_preload_cleared(command, begin, position)) warn("env takes LD_PRELOAD away");
    begin = position + 1;
  }
  return {};
}

}  // namespace

Status plan_launch(const RunRequest &request, Launch *launch) {
  if (request.command.empty()) return wrong("no command; write sluice run [options] -- mpiexec -n 4 ./app");
  const Installation installation = find_installation(request.library_folder);
  const std::string backends = request.backends.empty() ? Knobs::process().text("SLUICE_BACKENDS") : request.backends;
  if (Status status = check_backends(backends, installation); !status.is_ok()) return status;

  const std::optional<Launcher> launcher = find_launcher(request.command);
  FlavourChoice choice;
  if (Status status = find_flavour(request, launcher, &choice); !status.is_ok()) return status;
  std::string library;
  if (Status status = find_library(choice, installation, &library); !status.is_ok()) return status;

  if (Status status = check_reach(request.command, launcher, &launch->warnings); !status.is_ok()) return status;

  const char *existing = environment_variable(kPreload);
  launch->rule = choice.rule;
  launch->environment[kPreload] = preloaded(library, existing != nullptr ? existing : "");
  if (const std::string lookup = lookup_library(installation, request.command, launcher); !lookup.empty()) {
    const char *auditing = environment_variable(kAudit);
    launch->environment[kAudit] = preloaded(lookup, auditing != nullptr ? auditing : "");
  }
  if (!request.backends.empty()) launch->environment["SLUICE_BACKENDS"] = request.backends;
  if (request.wants_statistics) launch->environment.emplace("SLUICE_STATS", "1");
  launch->command = request.command;
  extend_own_preloads(library, &launch->command);
  if (Status status = add_binding(request, installation, backends, launcher, &launch->command); !status.is_ok()) {
    return status;
  }
  std::vector<std::size_t> programs;
  if (find_programs(launch->command, launcher, &programs).is_ok()) put_runtimes_first(programs, &launch->command);
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
  for (const std::string &warning : launch.warnings) fmt::print(stderr, "sluice run: {}\n", warning);
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
