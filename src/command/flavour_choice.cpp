// SPDX-License-Identifier: BSD-3-Clause
#include "command/flavour_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "command/child_process.hpp"
#include "command/elf_file.hpp"
#include "command/library_search.hpp"
#include "command/preload_reach.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

// A word of the command that names an executable file.
struct Candidate {
  std::size_t position = 0;
  std::string word;
  fs::path path;
  ProgramMpi mpi;
  std::string interpreter;  // of a script, or the program itself when it is a Python interpreter; else empty
};

bool is_python(const fs::path &program) {
  return program.filename().string().starts_with("python");
}

// The interpreter of a script: "python3" for "#!/usr/bin/env python3". Empty when the file is no script.
std::string interpreter_of(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return "";
  std::istringstream words(line.substr(2));
  std::string program;
  words >> program;
  if (fs::path(program).filename() == "env") {
    while (words >> program && program.starts_with("-")) {
    }
  }
  return program;
}

bool is_shell(const fs::path &program) {
  static const std::set<std::string> shells = {"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish"};
  return shells.count(program.filename().string()) != 0;
}

// An MPMD command has a program in each of its parts, which stand between colons.
std::vector<std::vector<Candidate>> candidates(const std::vector<std::string> &command, std::size_t begin) {
  std::vector<std::vector<Candidate>> parts(1);
  for (std::size_t i = begin; i < command.size(); ++i) {
    const std::string &word = command[i];
    if (word == ":") parts.emplace_back();
    if (word.starts_with("-") || word.find('=') != std::string::npos) continue;
    const std::optional<fs::path> path = find_program(word);
    if (!path) continue;
    Candidate candidate{i, word, *path, mpi_of_program(*path), ""};
    if (candidate.mpi.library.empty())
      candidate.interpreter = is_python(*path) ? path->string() : interpreter_of(*path);
    parts.back().push_back(std::move(candidate));
  }
  return parts;
}

// The folder of the interpreter's mpi4py; empty when it has none.
fs::path mpi4py_folder(const std::string &interpreter) {
  const std::string program =
      "import importlib.util as u; s = u.find_spec('mpi4py'); print(s.submodule_search_locations[0] if s else '')";
  std::string said = output_of({interpreter, "-c", program}).value_or("");
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said.substr(said.rfind('\n') + 1);
}

// The flavours of the extension modules of an mpi4py (its wheels carry one for each).
std::set<Flavour> mpi4py_flavours(const std::string &interpreter) {
  std::set<Flavour> flavours;
  const fs::path folder = mpi4py_folder(interpreter);
  std::error_code ignored;
  if (folder.empty()) return flavours;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored)) {
    const std::string leaf = entry.path().filename().string();
    if (!leaf.starts_with("MPI.") || !leaf.ends_with(".so")) continue;
    if (const auto flavour = mpi_of_program(entry.path()).flavour) flavours.insert(*flavour);
  }
  return flavours;
}

Status unknown_interface(const Candidate &candidate) {
  return Status::error(
      ErrorKind::kUnsupported,
      fmt::format("{} is linked to {}, an MPI of a binary interface that Sluice is not built for (it has libmpi.so.12, "
                  "libmpi.so.40 and libmpi_abi.so): link the program to another MPI",
                  candidate.word, candidate.mpi.library));
}

Status not_an_mpi_program(const std::vector<Candidate> &found) {
  if (found.empty()) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "no word of the command names a program that can be run: check its path");
  }
  if (found.size() == 1 && is_static(found.front().path)) {
    return Status::error(ErrorKind::kUnsupported,
                         fmt::format("{} is statically linked, so Sluice cannot be preloaded into it: link it to the "
                                     "shared library of its MPI",
                                     found.front().word));
  }
  std::vector<std::string> words;
  words.reserve(found.size());
  for (const Candidate &candidate : found) words.push_back(candidate.word);
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("{} {} not linked to an MPI, so there is nothing for Sluice to do: run an MPI "
                                   "program, or name its MPI with --mpi if it loads one later",
                                   fmt::join(words, ", "), words.size() == 1 ? "is" : "are"));
}

// A script or interpreter gives no needed libraries to read: its mpi4py does, or else the launcher's MPI is taken.
Status choose_for_script(const Candidate &script, const std::optional<Launcher> &launcher, FlavourChoice *choice) {
  const std::set<Flavour> found =
      is_python(script.interpreter) ? mpi4py_flavours(script.interpreter) : std::set<Flavour>{};
  if (found.size() == 1) {
    *choice = {*found.begin(), fmt::format("mpi4py of {} is linked to {}", script.interpreter, title(*found.begin()))};
    return {};
  }
  const std::optional<Flavour> of_launcher = flavour_of(launcher ? launcher->kind : LauncherKind::kOther);
  if (launcher && of_launcher) {
    const Flavour flavour = *of_launcher;
    *choice = {flavour, fmt::format("{} is a script, and {} is the launcher of an MPI with {}", script.word,
                                    launcher->path.string(), title(flavour))};
    return {};
  }
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("cannot tell which MPI {} uses, because it is a script: name it with --mpi mpich, "
                                   "--mpi ompi or --mpi abi",
                                   script.word));
}

Status choose_in_part(const std::vector<Candidate> &part, const std::optional<Launcher> &launcher,
                      FlavourChoice *choice) {
  for (const Candidate &candidate : part) {
    if (candidate.mpi.flavour) {
      *choice = {*candidate.mpi.flavour, fmt::format("{} needs {}, which has {}", candidate.mpi.needed_by.string(),
                                                     candidate.mpi.library, title(*candidate.mpi.flavour))};
      return {};
    }
    if (!candidate.mpi.library.empty()) return unknown_interface(candidate);
  }
  for (const Candidate &candidate : part) {
    if (!candidate.interpreter.empty()) return choose_for_script(candidate, launcher, choice);
  }
  return not_an_mpi_program(part);
}

}  // namespace

Status choose_flavour(const std::vector<std::string> &command, const std::optional<Launcher> &launcher,
                      FlavourChoice *choice) {
  bool is_first = true;
  for (const std::vector<Candidate> &part : candidates(command, launcher ? launcher->position + 1 : 0)) {
    FlavourChoice chosen;
    if (Status status = choose_in_part(part, launcher, &chosen); !status.is_ok()) return status;
    if (!is_first && chosen.flavour != choice->flavour) {
      return Status::error(ErrorKind::kInvalidArgument,
                           fmt::format("the command's programs have different MPIs ({}; {}): build them with one",
                                       choice->rule, chosen.rule));
    }
    if (is_first) *choice = chosen;
    is_first = false;
  }
  return {};
}

bool looks_functions_up(const std::vector<std::string> &command, const std::optional<Launcher> &launcher) {
  const std::vector<std::vector<Candidate>> parts = candidates(command, launcher ? launcher->position + 1 : 0);
  return std::any_of(parts.begin(), parts.end(), [](const std::vector<Candidate> &part) {
    return !part.empty() && std::none_of(part.begin(), part.end(), [](const Candidate &candidate) {
      return !candidate.mpi.library.empty() || is_shell(candidate.path) || is_shell(candidate.interpreter);
    });
  });
}

Status find_programs(const std::vector<std::string> &command, const std::optional<Launcher> &launcher,
                     std::vector<std::size_t> *positions) {
  positions->clear();
  for (const std::vector<Candidate> &part : candidates(command, launcher ? launcher->position + 1 : 0)) {
    if (part.empty()) return not_an_mpi_program(part);
    const auto first = [&part](const auto &is_meant) { return std::find_if(part.begin(), part.end(), is_meant); };
    auto found = first([](const Candidate &candidate) { return !candidate.mpi.library.empty(); });
    if (found == part.end()) found = first([](const Candidate &candidate) { return !candidate.interpreter.empty(); });
    positions->push_back(found != part.end() ? found->position : part.front().position);
  }
  return {};
}

}  // namespace sluice::command
