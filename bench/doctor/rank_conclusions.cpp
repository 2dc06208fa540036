// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with the ranks.
#include <fmt/format.h>

#include <cstdint>
#include <functional>

#include "bench/doctor/conclusions.hpp"
#include "bench/doctor/fact_queries.hpp"
#include "bench/doctor/rank_list.hpp"

namespace sluice::bench::doctor {
namespace {

using Conclusions = std::vector<Conclusion>;

constexpr std::uint64_t kLittleSharedMemory = std::uint64_t{16} << 20;  // for a rank
constexpr std::uint64_t kFewFiles = 1024;

// Each process of a launcher of another MPI believes that it is alone.
void add_lone_ranks(const std::vector<Json> &ranks, Conclusions *all) {
  const Json &first = ranks.front();
  const Json &starter = first.at("started_by");
  const int n_started = starter.is_null() ? -1 : starter.at("n_ranks").get<int>();
  const int n_ranks = first.at("n_ranks").get<int>();
  if (n_started <= n_ranks) return;
  all->push_back({true,
                  fmt::format("The launcher started {} processes, and to the MPI they are jobs of {} rank{}.",
                              n_started, n_ranks, n_ranks == 1 ? "" : "s"),
                  "Use the launcher of this MPI, or name the launcher's MPI with --mpi."});
}

void add_problems(const std::vector<Json> &ranks, const char *member, const char *remedy, Conclusions *all) {
  for (const auto &[text, whose] :
       folded_each(ranks, [&](const Json &rank) { return rank.at(member).get<std::vector<std::string>>(); })) {
    all->push_back({true, fmt::format("{}: {}", named_ranks(whose), text), remedy});
  }
}

std::string why_missing(const Json &rank) {
  const Json &preload = rank.at("preload");
  const std::string library = preload.at("library");
  if (library.empty()) return preload.at("problem");
  return fmt::format("{} was to be preloaded and is not in the process", library);
}

void add_sluice(const std::vector<Json> &ranks, Conclusions *all) {
  for (const auto &[why, whose] : folded(ranks, [](const Json &rank) {
         return rank.at("sluice").at("is_there").get<bool>() ? std::string() : why_missing(rank);
       })) {
    if (why.empty()) continue;
    all->push_back(
        {true, fmt::format("{}: Sluice is not in the process: {}", named_ranks(whose), why),
         "Start all ranks alike: sluice run -- mpiexec -n 4 ./app; docs/doctor.md lists what keeps a library "
         "from being preloaded."});
  }
  for (const auto &[problem, whose] : folded(ranks, [](const Json &rank) {
         const Json &preload = rank.at("preload");
         return preload.at("library").get<std::string>().empty() ? std::string()
                                                                 : preload.at("problem").get<std::string>();
       })) {
    if (problem.empty()) continue;
    all->push_back({true, fmt::format("{}: {}", named_ranks(whose), problem),
                    "Preload the library for this MPI; the doctor did so here. `sluice run` finds the right one."});
  }
  const std::vector<int> off = ranks_where(ranks, [](const Json &rank) {
    return rank.at("sluice").at("is_there").get<bool>() && !rank.at("sluice").at("is_enabled").get<bool>();
  });
  if (!off.empty()) {
    all->push_back({true, fmt::format("{}: Sluice is switched off (SLUICE_ENABLE=0).", named_ranks(off)),
                    "Unset SLUICE_ENABLE for all ranks."});
  }
}

// "rank 0: 1; ranks 1-3: 2" where the ranks that `counts` have several texts; else empty.
std::string difference(const std::vector<Json> &ranks, const std::function<std::string(const Json &)> &text_of) {
  std::string text;
  const auto groups = folded(ranks, text_of);
  int n_groups = 0;
  for (const auto &[value, whose] : groups) {
    if (value.empty()) continue;
    ++n_groups;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", named_ranks(whose), value);
  }
  return n_groups > 1 ? text : "";
}

std::string knobs_of(const Json &rank) {
  std::string text;
  for (const Json &knob : rank.at("knobs")) text += (text.empty() ? "" : " ") + knob.get<std::string>();
  return text.empty() ? "none" : text;
}

void add_differences(const std::vector<Json> &ranks, Conclusions *all) {
  const auto version = [](const Json &rank) { return rank.at("sluice").at("version").get<std::string>(); };
  // Libraries of one version may differ where each node has a folder of its own for them.
  const auto build = [](const Json &rank) { return rank.at("sluice").value("build", "").substr(0, 12); };
  const auto flavour = [](const Json &rank) { return rank.at("flavour").get<std::string>(); };
  if (const std::string text = difference(ranks, version); !text.empty()) {
    all->push_back({true, fmt::format("The versions of Sluice differ: {}.", text),
                    "Preload one library into all ranks; look at PATH and LD_PRELOAD of each node."});
  } else if (const std::string other = difference(ranks, build); !other.empty() && difference(ranks, flavour).empty()) {
    all->push_back({true, fmt::format("The libraries of Sluice are different builds of one version: {}.", other),
                    "Install one build on all nodes, in a folder that all see."});
  }
  if (const std::string text = difference(ranks, flavour); !text.empty()) {
    all->push_back(
        {true, fmt::format("The binary interfaces of the MPI differ: {}.", text), "Start all ranks with one MPI."});
  }
  if (const std::string text = difference(ranks, knobs_of); !text.empty()) {
    all->push_back({true, fmt::format("The SLUICE_* variables differ: {}.", text),
                    "Give all ranks the same; some launchers hand variables on only when they are told (-x NAME)."});
  }
  for (const auto &[text, whose] : folded(ranks, [&](const Json &rank) {
         const std::string of_library = version(rank);
         const std::string of_program = rank.at("program_version");
         return of_library.empty() || of_library == of_program
                    ? std::string()
                    : fmt::format("the library preloaded is of version {}, and `sluice` of {}", of_library, of_program);
       })) {
    if (!text.empty()) {
      all->push_back({true, fmt::format("{}: {}.", named_ranks(whose), text), "Use both from one installation."});
    }
  }
}

void add_limits(const std::vector<Json> &ranks, Conclusions *all) {
  const auto little_memory = [](const Json &rank) {
    const Json &free_bytes = rank.at("limits").at("shared_memory_free_bytes");
    const auto n_ranks = rank.at("n_local_ranks").get<std::uint64_t>();
    return free_bytes.is_number() && free_bytes.get<std::uint64_t>() < n_ranks * kLittleSharedMemory;
  };
  if (const std::vector<int> whose = ranks_where(ranks, little_memory); !whose.empty()) {
    all->push_back(
        {true, fmt::format("{}: /dev/shm has less than 16 MiB free for each rank of the node.", named_ranks(whose)),
         "Remove what lies there, or make it larger (containers: --shm-size=1g)."});
  }
  const auto few_files = [](const Json &rank) {
    const Json &files = rank.at("limits").at("open_files");
    return files.is_number() && files.get<std::uint64_t>() < kFewFiles;
  };
  if (const std::vector<int> whose = ranks_where(ranks, few_files); !whose.empty()) {
    all->push_back({true, fmt::format("{}: a process may have less than 1024 files open.", named_ranks(whose)),
                    "Raise the limit (ulimit -n) before the launcher starts the ranks."});
  }
}

void add_crowds(const std::vector<Json> &ranks, Conclusions *all) {
  const std::vector<int> whose = ranks_where(ranks, [](const Json &rank) {
    const int n_cores = rank.at("n_cores_of_node");
    return n_cores > 0 && rank.at("n_local_ranks").get<int>() > n_cores;
  });
  if (whose.empty()) return;
  all->push_back({false,
                  fmt::format("{}: the node has more ranks than cores. Ranks that wait take time from those that send, "
                              "and the figures show it.",
                              named_ranks(whose)),
                  "Start fewer ranks to see what the ways can do."});
}

}  // namespace

std::vector<Conclusion> conclusions_of_ranks(const std::vector<Json> &ranks) {
  Conclusions all;
  add_lone_ranks(ranks, &all);
  add_sluice(ranks, &all);
  add_differences(ranks, &all);
  add_problems(ranks, "knob_problems", "Correct or unset the variable: Sluice does not go by it.", &all);
  add_problems(ranks, "module_problems", "Install Sluice anew, or correct SLUICE_BACKEND_PATH.", &all);
  add_limits(ranks, &all);
  add_crowds(ranks, &all);
  return all;
}

}  // namespace sluice::bench::doctor
