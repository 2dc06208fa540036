// SPDX-License-Identifier: BSD-3-Clause
#include "command/doctor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/environment.hpp"
#include "base/own_program.hpp"
#include "command/elf_file.hpp"
#include "command/launcher.hpp"
#include "command/library_search.hpp"
#include "command/preload.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

constexpr int kCannotRun = 2;

// The program of a flavour, or why it cannot be started.
struct Program {
  fs::path path;
  std::string problem;
};

Program find_program_of(Flavour flavour) {
  Program program{
      own_program().parent_path().parent_path() / "libexec/sluice" / fmt::format("doctor.{}", name(flavour)), ""};
  std::error_code ignored;
  if (!fs::is_regular_file(program.path, ignored)) {
    program.problem =
        fmt::format("{} is not there: build Sluice with an MPI that has {}", program.path.string(), title(flavour));
    return program;
  }
  const ProgramMpi mpi = mpi_of_program(program.path);
  const std::optional<ElfFile> elf = read_elf(mpi.needed_by);
  if (elf && !find_library(mpi.library, *elf)) {
    program.problem = fmt::format(
        "the MPI's library {} is not found: load the MPI's module, or put its folder into "
        "LD_LIBRARY_PATH",
        mpi.library);
  }
  return program;
}

// The launcher that PATH leads to, for a process that none started.
std::optional<Launcher> launcher_on_path() {
  for (const char *word : {"mpiexec", "mpirun", "srun", "mpiexec.hydra", "mpiexec.mpich", "mpirun.openmpi"}) {
    if (std::optional<Launcher> launcher = find_launcher({word})) return launcher;
  }
  return std::nullopt;
}

// Finds flavour and program. Errors: no program can be started; the text has one reason for each flavour.
Status choose_program(const DoctorWords &words, const std::vector<Flavour> &flavours, DoctorFacts *facts,
                      fs::path *path) {
  std::vector<std::string> problems;
  for (const Flavour flavour : flavours) {
    const Program program = find_program_of(flavour);
    if (program.problem.empty()) {
      facts->flavour = flavour;
      facts->rule = words.mpi != "auto" ? fmt::format("--mpi {}", words.mpi)
                    : facts->starter    ? fmt::format("{} is set", facts->starter->variable)
                                        : "no launcher started this process";
      *path = program.path;
      return {};
    }
    problems.push_back(fmt::format("{}: {}", name(flavour), program.problem));
  }
  return Status::error(
      ErrorKind::kUnsupported,
      fmt::format("no MPI program can be started ({}); name the MPI with --mpi", fmt::join(problems, "; ")));
}

int become(const fs::path &path, const DoctorWords &words, const DoctorFacts &facts) {
  std::vector<std::string> texts = {path.string(), "--facts", to_json(facts)};
  if (words.wants_json) texts.emplace_back("--json");
  if (!words.backend.empty()) texts.insert(texts.end(), {"--backend", words.backend});
  std::vector<char *> arguments;
  arguments.reserve(texts.size() + 1);
  for (std::string &text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const int result = facts.preload.list.empty() ? unsetenv(kPreload) : setenv(kPreload, facts.preload.list.c_str(), 1);
  if (result == 0) execv(arguments[0], arguments.data());
  fmt::print(stderr, "sluice doctor: {} cannot be started: {}; install Sluice anew\n", texts[0], std::strerror(errno));
  return kCannotRun;
}

}  // namespace

std::vector<Flavour> flavours_to_try(const std::optional<StartedBy> &starter,
                                     const std::optional<Flavour> &preloaded_one,
                                     const std::optional<Flavour> &launcher) {
  std::vector<Flavour> flavours;
  const auto add = [&flavours](Flavour flavour) {
    if (std::ranges::find(flavours, flavour) == flavours.end()) flavours.push_back(flavour);
  };
  if (starter && !starter->flavours.empty()) {
    // A library that is preloaded says which of them; one that none of them has is a mistake.
    if (preloaded_one && std::ranges::find(starter->flavours, *preloaded_one) != starter->flavours.end()) {
      add(*preloaded_one);
    }
    for (const Flavour flavour : starter->flavours) add(flavour);
    return flavours;
  }
  for (const std::optional<Flavour> &likely : {preloaded_one, launcher}) {
    if (likely) add(*likely);
  }
  for (const Flavour flavour : {Flavour::kMpich, Flavour::kOmpi, Flavour::kAbi}) add(flavour);
  return flavours;
}

int examine(const DoctorWords &words) {
  DoctorFacts facts;
  facts.starter = find_starter(environment_variable);
  facts.installation = find_installation(words.library_folder);
  const char *existing = environment_variable(kPreload);
  const std::string preload_list = existing != nullptr ? existing : "";

  std::optional<Launcher> launcher;
  if (!facts.starter) {
    launcher = launcher_on_path();
    facts.start_line = fmt::format("{} -n 4 sluice doctor", launcher ? launcher->path.filename().string() : "mpiexec");
  }
  std::vector<Flavour> flavours = flavours_to_try(facts.starter, preloaded_flavour(preload_list),
                                                  launcher ? flavour_of(launcher->kind) : std::nullopt);
  if (const std::optional<Flavour> named = flavour_named(words.mpi)) flavours = {*named};

  fs::path program;
  if (const Status status = choose_program(words, flavours, &facts, &program); !status.is_ok()) {
    fmt::print(stderr, "sluice doctor: {}\n", status.message());
    return kCannotRun;
  }
  // Such an MPI ends the process in MPI_Init, before the doctor's program can tell anything.
  if (const std::string problem = shared_memory_problem(); !problem.empty()) {
    fmt::print(stderr, "sluice doctor: {}\n", problem);
  }
  facts.preload = plan_doctor_preload(preload_list, facts.flavour, facts.installation, program, !words.leaves_preload);
  return become(program, words, facts);
}

}  // namespace sluice::command
