// SPDX-License-Identifier: BSD-3-Clause
#include "base/local_rank.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace sluice {
namespace {

// A number from 0 on that is all of the text; -1 for anything else.
int number_in(std::string_view text) {
  int number = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && stop == text.data() + text.size() && number >= 0 ? number : -1;
}

int number_of(const Environment &environment, const char *name) {
  const char *text = name != nullptr ? environment(name) : nullptr;
  return text != nullptr ? number_in(text) : -1;
}

// Slurm counts the tasks of all nodes in one text: "4(x2),3" is 4 on the first two nodes and 3 on the third.
int tasks_of_node(std::string_view text, int node) {
  while (!text.empty() && node >= 0) {
    const std::string_view group = text.substr(0, text.find(','));
    text.remove_prefix(group.size() < text.size() ? group.size() + 1 : text.size());
    const std::size_t bracket = group.find('(');
    int n_nodes = 1;
    if (bracket != std::string_view::npos) {
      if (!group.substr(bracket).starts_with("(x") || !group.ends_with(')')) return -1;
      n_nodes = number_in(group.substr(bracket + 2, group.size() - bracket - 3));
    }
    const int n_tasks = number_in(group.substr(0, bracket));
    if (n_tasks < 1 || n_nodes < 1) return -1;
    if (node < n_nodes) return n_tasks;
    node -= n_nodes;
  }
  return -1;
}

int n_tasks_in_step(const Environment &environment) {
  const char *tasks = environment("SLURM_STEP_TASKS_PER_NODE");
  return tasks != nullptr ? tasks_of_node(tasks, number_of(environment, "SLURM_NODEID")) : -1;
}

struct Pair {
  const char *rank;
  const char *n_ranks;  // null: there is no such variable
};

constexpr const char *kSlurmRank = "SLURM_LOCALID";
constexpr std::array<Pair, 8> kPairs = {{{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                         {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                                         {"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
                                         {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
                                         {"PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"},
                                         {"JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE"},
                                         {"FLUX_TASK_LOCAL_ID", nullptr},
                                         {kSlurmRank, nullptr}}};

}  // namespace

std::optional<LocalRank> find_local_rank(const Environment &environment) {
  for (const Pair &pair : kPairs) {
    const int rank = number_of(environment, pair.rank);
    if (rank < 0) continue;
    int n_ranks = pair.rank == kSlurmRank ? n_tasks_in_step(environment) : number_of(environment, pair.n_ranks);
    if (n_ranks == 0) n_ranks = -1;
    if (n_ranks > 0 && rank >= n_ranks) continue;
    return LocalRank{rank, n_ranks, pair.rank};
  }
  return std::nullopt;
}

}  // namespace sluice
