// SPDX-License-Identifier: BSD-3-Clause
#include "command/started_by.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace sluice::command {
namespace {

struct Starter {
  const char *rank;
  const char *n_ranks;  // null: there is no such variable
  bool needs_n_ranks;   // the other one stands in a batch script, too
  std::array<Flavour, 3> flavours;
  std::size_t n_flavours;
};

constexpr std::array<Starter, 5> kStarters = {
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false, {Flavour::kOmpi, Flavour::kAbi}, 2},
     {"PMI_RANK", "PMI_SIZE", false, {Flavour::kMpich, Flavour::kAbi}, 2},
     {"PALS_RANKID", nullptr, false, {Flavour::kMpich, Flavour::kAbi}, 2},
     {"PMIX_RANK", nullptr, false, {Flavour::kOmpi, Flavour::kMpich, Flavour::kAbi}, 3},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true, {}, 0}}};

// A number from 0 on that is all of the variable; -1 for anything else.
int number_of(const Environment &environment, const char *name) {
  const char *value = name != nullptr ? environment(name) : nullptr;
  if (value == nullptr) return -1;
  const std::string_view text = value;
  int number = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && stop == text.data() + text.size() && number >= 0 ? number : -1;
}

}  // namespace

std::optional<StartedBy> find_starter(const Environment &environment) {
  for (const Starter &starter : kStarters) {
    const int rank = number_of(environment, starter.rank);
    const int n_ranks = number_of(environment, starter.n_ranks);
    if (rank < 0 || (starter.needs_n_ranks && n_ranks < 1)) continue;
    return StartedBy{starter.rank,
                     rank,
                     n_ranks < 1 ? -1 : n_ranks,
                     {starter.flavours.begin(), starter.flavours.begin() + starter.n_flavours}};
  }
  return std::nullopt;
}

}  // namespace sluice::command
