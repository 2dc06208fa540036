// SPDX-License-Identifier: BSD-3-Clause
// The generator of random collective calls.
#include "tests/ranks/coll/random_calls.hpp"

#include <fmt/format.h>

#include <array>

#include "tests/support/completers.hpp"

namespace sluice::tests {
namespace {

// Questions about a program, and about each of its calls; those about a rank's buffers are in call_buffers.cpp.
enum Question : int { kWhat, kForm, kLarge, kWhere, kRoot, kInPlace, kMixed, kSort, kSize, kGrains, kDetails, kNested };
constexpr int kMostCalls = 4;
constexpr int kMostStarts = 2;

// splitmix64
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

// A grain is 24 bytes: from nothing to messages that host MPIs send in several pieces.
std::uint64_t random_grains(const Draws &draws, int index) {
  constexpr std::array<std::uint64_t, 5> kMost = {1, 4, 60, 1000, 4000};
  const std::uint64_t most = kMost[draws.below(16, kSize, index) * kMost.size() / 18];
  return draws.below(most + 1, kGrains, index);
}

Where random_place(const Draws &draws, int index, What what, int n_ranks) {
  if (is_neighborly(what)) {
    constexpr std::array kTopologies = {Where::grid, Where::graph, Where::distributed_graph};
    return kTopologies[draws.below(kTopologies.size(), kWhere, index)];
  }
  constexpr std::array kPlaces = {Where::everywhere, Where::everywhere,     Where::backwards, Where::alone,
                                  Where::backwards,  Where::between_groups, Where::grid};
  const Where where = kPlaces[draws.below(kPlaces.size(), kWhere, index)];
  // There are no scans between groups, and no second group of one rank.
  const bool has_groups = n_ranks > 1 && what != What::scan && what != What::exscan;
  return where == Where::between_groups && !has_groups ? Where::everywhere : where;
}

bool may_be_in_place(What what, Where where) {
  return where != Where::between_groups && !is_neighborly(what) && what != What::barrier && what != What::bcast &&
         what != What::reduce_local;
}

CollectiveCall random_call(const Draws &draws, int index, int n_ranks) {
  CollectiveCall call;
  call.what = static_cast<What>(draws.below(static_cast<int>(What::reduce_local) + 1, kWhat, index));
  call.form = static_cast<Variant::Form>(draws.below(3, kForm, index));
  call.is_large = draws.one_in(3, kLarge, index);
  call.where = random_place(draws, index, call.what, n_ranks);
  call.root = static_cast<int>(draws.below(60, kRoot, index));  // every number of ranks from 1 to 6 divides it
  call.is_in_place = may_be_in_place(call.what, call.where) && draws.one_in(3, kInPlace, index);
  call.is_mixed = draws.one_in(3, kMixed, index);
  call.sort = static_cast<Sort>(draws.below(3, kSort, index));
  call.grains = random_grains(draws, index);
  call.draws = Draws(draws.below(~0ULL, kDetails, index));
  // In every second program: the others are what they were before there were such types.
  call.is_nested = !is_reduction(call.what) && draws.one_in(2, kNested) && draws.one_in(2, kNested, index + 1);
  if (call.is_nested && call.grains > 4) call.grains = 4 + call.grains / 16;
  return call;
}

}  // namespace

std::uint64_t Draws::below(std::uint64_t bound, int what, int a, int b) const {
  std::uint64_t value = mixed(seed_);
  for (const int part : {what, a, b}) value = mixed(value ^ static_cast<std::uint64_t>(part + 2));
  return value % bound;
}

const char *name_of(What what) {
  constexpr std::array kNames = {"barrier",
                                 "bcast",
                                 "gather",
                                 "gatherv",
                                 "scatter",
                                 "scatterv",
                                 "allgather",
                                 "allgatherv",
                                 "alltoall",
                                 "alltoallv",
                                 "alltoallw",
                                 "reduce",
                                 "allreduce",
                                 "reduce_scatter",
                                 "reduce_scatter_block",
                                 "scan",
                                 "exscan",
                                 "neighbor_allgather",
                                 "neighbor_allgatherv",
                                 "neighbor_alltoall",
                                 "neighbor_alltoallv",
                                 "neighbor_alltoallw",
                                 "reduce_local"};
  return kNames[static_cast<std::size_t>(what)];
}

std::string describe(const CollectiveCall &call) {
  constexpr std::array kForms = {"blocking", "non-blocking", "persistent"};
  constexpr std::array kPlaces = {"everywhere", "backwards",        "alone", "between groups", "grid",
                                  "graph",      "distributed graph"};
  constexpr std::array kSorts = {"ordered", "commutative", "predefined"};
  return fmt::format("{} {}{}, {}, root {}, {} grains{}{}, {} operation", kForms[static_cast<std::size_t>(call.form)],
                     name_of(call.what), call.is_large ? " with large counts" : "",
                     kPlaces[static_cast<std::size_t>(call.where)], call.root, call.grains,
                     call.is_in_place ? ", in place" : "",
                     call.is_nested ? (call.is_mixed ? ", nested types mixed" : ", nested types")
                                    : (call.is_mixed ? ", types mixed" : ""),
                     kSorts[static_cast<std::size_t>(call.sort)]);
}

CollectiveProgram make_collective_program(std::uint64_t seed, int n_ranks) {
  const Draws draws(seed);
  constexpr int kProgram = -1;  // in place of a call's index
  CollectiveProgram program;
  const int n_calls = 1 + static_cast<int>(draws.below(kMostCalls, kWhat, kProgram));
  for (int index = 0; index < n_calls; ++index) program.calls.push_back(random_call(draws, index, n_ranks));
  program.n_starts = 1 + static_cast<int>(draws.below(kMostStarts, kForm, kProgram));
  program.completer = draws.below(completers().size(), kWhere, kProgram);
  program.ignores_statuses = draws.one_in(3, kMixed, kProgram);
  program.rotation = draws.below(16, kRoot, kProgram);
  return program;
}

}  // namespace sluice::tests
