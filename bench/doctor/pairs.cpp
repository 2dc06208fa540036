// SPDX-License-Identifier: BSD-3-Clause
// The way between two ranks.
#include "bench/doctor/pairs.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>

#include "bench/doctor/fact_queries.hpp"
#include "bench/doctor/pair_message.hpp"
#include "bench/memory/device_module.hpp"

namespace sluice::bench::doctor {
namespace {

constexpr unsigned kLimitS = 60;

// For the handler of a signal, so all is made before. The file is standard error, which is caught meanwhile.
std::array<char, 128> late_text{};
int late_file = STDERR_FILENO;

void end_late(int) {
  const ssize_t ignored = ::write(late_file, late_text.data(), std::strlen(late_text.data()));
  static_cast<void>(ignored);
  ::_exit(1);
}

// From its construction on, the process has so much time.
class TimeLimit {
 public:
  TimeLimit(int rank, int peer) {
    const auto end = fmt::format_to_n(late_text.data(), late_text.size() - 1,
                                      "sluice doctor: rank {}: no message from rank {} in {} s; the job is ended\n",
                                      rank, peer, kLimitS);
    *end.out = '\0';
    late_file = ::dup(STDERR_FILENO);
    ::signal(SIGALRM, end_late);
    ::alarm(kLimitS);
  }
  TimeLimit(const TimeLimit &) = delete;
  TimeLimit &operator=(const TimeLimit &) = delete;
  ~TimeLimit() {
    ::alarm(0);
    if (late_file >= 0) ::close(late_file);
    late_file = -1;
  }
};

// What a rank tells all others, so that all know the pairs.
struct Seat {
  int node = 0;
  int is_ready = 0;
};

std::vector<Seat> seats_of_all(const World &world, Seat mine) {
  std::vector<Seat> seats(static_cast<std::size_t>(world.n_ranks()));
  check_mpi(MPI_Allgather(&mine, 2, MPI_INT, seats.data(), 2, MPI_INT, world.communicator()), "MPI_Allgather");
  return seats;
}

using Pairs = std::vector<std::pair<int, int>>;

// Pairs that are measured at the same time, step by step: first those of each node, then those between nodes.
std::vector<Pairs> steps_of(const std::vector<Seat> &seats, std::size_t *n_inside) {
  std::map<int, std::vector<int>> members;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    if (seats[rank].is_ready != 0) members[seats[rank].node].push_back(static_cast<int>(rank));
  }
  std::vector<Pairs> steps;
  std::vector<int> first_ones;
  for (const auto &[node, ranks] : members) {
    first_ones.push_back(ranks.front());
    const Pairs pairs = pairs_of(ranks);
    steps.resize(std::max(steps.size(), pairs.size()));
    for (std::size_t step = 0; step < pairs.size(); ++step) steps[step].push_back(pairs[step]);
  }
  *n_inside = steps.size();
  for (const Pairs &pairs : pairs_between(first_ones)) steps.push_back(pairs);
  return steps;
}

// The module with its device chosen and memory for messages; null, with `problem` said, where there is none.
std::unique_ptr<PairMemory> memory_of(const World &world, const std::string &folder, const std::string &backend,
                                      const Json &facts, std::string *problem) {
  if (!runs_sluice(facts) || !has_devices(facts, backend)) return nullptr;
  if (!find_backend(facts, backend)->at("sluice_takes_it").get<bool>()) return nullptr;
  try {
    return std::make_unique<PairMemory>(folder, backend, world.local_rank(), kLongBytes);
  } catch (const DeviceError &error) {
    *problem = error.what();
    return nullptr;
  }
}

// Both sides of a pair, as rank 0 gets them, in one object.
std::vector<Json> joined(const std::vector<std::string> &texts) {
  std::map<std::pair<int, int>, Json> pairs;
  for (const std::string &text : texts) {
    for (const Json &side : Json::parse(text)) {
      Json &pair = pairs[{side.at("ranks")[0], side.at("ranks")[1]}];
      if (pair.is_null()) {
        pair = {{"ranks", side.at("ranks")}, {"between_nodes", side.at("between_nodes")}, {"sides", Json::array()}};
      }
      pair["sides"].push_back(side.at("side"));
    }
  }
  std::vector<Json> result;
  result.reserve(pairs.size());
  for (auto &[ranks, pair] : pairs) result.push_back(std::move(pair));
  return result;
}

}  // namespace

std::vector<std::pair<int, int>> pairs_of(const std::vector<int> &ranks) {
  std::vector<std::pair<int, int>> pairs;
  const std::size_t n = ranks.size();
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      const bool is_next = b == a + 1 || (a == 0 && b == n - 1);
      if (n <= kMostRanksForAllPairs || is_next) pairs.emplace_back(ranks[a], ranks[b]);
    }
  }
  return pairs;
}

std::vector<std::vector<std::pair<int, int>>> pairs_between(const std::vector<int> &ranks) {
  std::vector<Pairs> steps;
  for (std::size_t parity = 0; parity < 2; ++parity) {
    Pairs pairs;
    for (std::size_t a = parity; a + 1 < ranks.size(); a += 2) pairs.emplace_back(std::minmax(ranks[a], ranks[a + 1]));
    if (!pairs.empty()) steps.push_back(std::move(pairs));
  }
  return steps;
}

std::vector<Json> measure_pairs(const World &world, const std::string &module_folder, const std::string &backend,
                                Json *mine) {
  std::string problem;
  const std::unique_ptr<PairMemory> memory = memory_of(world, module_folder, backend, *mine, &problem);
  (*mine)["pair_problem"] = problem;
  (*mine)["device"] = memory != nullptr ? memory->device() : -1;
  (*mine)["can_be_exported"] = memory != nullptr && memory->can_be_exported();
  std::size_t n_inside = 0;
  const std::vector<Pairs> steps =
      steps_of(seats_of_all(world, {mine->at("node"), memory != nullptr ? 1 : 0}), &n_inside);

  Json sides = Json::array();
  for (std::size_t step = 0; step < steps.size(); ++step) {
    world.barrier();
    for (const auto &[a, b] : steps[step]) {
      if (world.rank() != a && world.rank() != b) continue;
      const int peer = world.rank() == a ? b : a;
      const TimeLimit limit(world.rank(), peer);
      sides.push_back(
          {{"ranks", {a, b}}, {"between_nodes", step >= n_inside}, {"side", exchange(*memory, world, peer)}});
    }
  }
  const std::vector<std::string> texts = world.gather(sides.dump(-1, ' ', false, Json::error_handler_t::replace));
  return joined(texts);
}

}  // namespace sluice::bench::doctor
