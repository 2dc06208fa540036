// SPDX-License-Identifier: BSD-3-Clause
// The program behind `sluice doctor`: looks at the ranks of the job that it is started as. Ends with 0 when all is
// well, with 1 when something is wrong, and with 2 when it could not look.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "bench/doctor/conclusions.hpp"
#include "bench/doctor/fact_queries.hpp"
#include "bench/doctor/findings.hpp"
#include "bench/doctor/pairs.hpp"
#include "bench/doctor/rank_facts.hpp"
#include "bench/doctor/text.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench::doctor {
namespace {

constexpr int kWell = 0;
constexpr int kWrong = 1;
constexpr int kCannotRun = 2;

struct Words {
  Json facts;
  std::string backend;
  bool wants_json = false;
};

// Rank 0's text on all ranks.
std::string told_by_root(const World &world, std::string text) {
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, world.communicator()), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(text.data(), length, MPI_CHAR, 0, world.communicator()), "MPI_Bcast");
  return text;
}

// Each process of a launcher of another MPI is rank 0 of its own job: one of them speaks.
bool is_speaker(const World &world, const Json &facts) {
  const Json &starter = facts.at("started_by");
  return world.is_root() && (starter.is_null() || world.n_ranks() > 1 || starter.at("rank") == 0);
}

std::vector<Json> facts_of_all(const World &world, const Json &mine) {
  std::vector<Json> ranks;
  for (const std::string &text : world.gather(mine.dump(-1, ' ', false, Json::error_handler_t::replace))) {
    ranks.push_back(Json::parse(text));
  }
  return ranks;
}

void say(const std::string &text, bool is_wanted) {
  if (!is_wanted) return;
  fmt::print("{}", text);
  std::fflush(stdout);
}

int examine(const World &world, const Words &words) {
  Json mine = facts_of_rank(world, words.facts, words.backend);
  const bool speaks = is_speaker(world, mine);
  Findings findings;
  findings.ranks = facts_of_all(world, mine);
  if (world.is_root()) findings.backend = choose_backend(findings.ranks, words.backend);
  findings.backend = told_by_root(world, findings.backend);
  // What is known so far is said first: a message may end the job.
  if (world.is_root()) say(text_of_ranks(findings), speaks && !words.wants_json);

  if (!findings.backend.empty()) {
    findings.pairs = measure_pairs(world, mine.at("module_folder"), findings.backend, &mine);
    findings.ranks = facts_of_all(world, mine);
  }
  if (world.is_root()) {
    findings.conclusions = conclusions_of(findings);
    say(words.wants_json ? json_of(findings) : text_of_pairs(findings) + text_of_conclusions(findings), speaks);
  }
  int result = has_fault(findings.conclusions) ? kWrong : kWell;
  check_mpi(MPI_Bcast(&result, 1, MPI_INT, 0, world.communicator()), "MPI_Bcast");
  return result;
}

// Empty: the words are wrong, which standard error says.
std::optional<Words> read_words(int argc, char **argv) {
  CLI::App app{"The program behind `sluice doctor`, which starts it."};
  Words words;
  std::string facts;
  app.add_option("--facts", facts, "what sluice knows of this process")->required();
  app.add_option("--backend", words.backend, "backend whose devices are looked at");
  app.add_flag("--json", words.wants_json, "print JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    app.exit(error);
    return std::nullopt;
  }
  words.facts = Json::parse(facts, nullptr, false);
  if (words.facts.is_discarded()) {
    fmt::print(stderr, "sluice doctor: --facts is no JSON: start `sluice doctor`\n");
    return std::nullopt;
  }
  return words;
}

// Other ranks may wait for this one, so the job is ended.
int run(int argc, char **argv, const Words &words) {
  const World world(&argc, &argv, MPI_THREAD_MULTIPLE);
  try {
    return examine(world, words);
  } catch (const std::exception &error) {
    fmt::print(stderr, "sluice doctor: rank {}: {}\n", world.rank(), error.what());
    std::fflush(nullptr);
    MPI_Abort(world.communicator(), kWrong);
    return kWrong;
  }
}

}  // namespace
}  // namespace sluice::bench::doctor

int main(int argc, char **argv) {
  using namespace sluice::bench::doctor;
  try {
    const std::optional<Words> words = read_words(argc, argv);
    return words ? run(argc, argv, *words) : kCannotRun;
  } catch (const std::exception &error) {
    fmt::print(stderr, "sluice doctor: {}\n", error.what());
    return kCannotRun;
  }
}
