// SPDX-License-Identifier: BSD-3-Clause
// `sluice doctor`: what it concludes and prints, of ranks that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "bench/doctor/conclusions.hpp"
#include "bench/doctor/fact_queries.hpp"
#include "bench/doctor/rank_list.hpp"
#include "bench/doctor/said_lines.hpp"
#include "bench/doctor/text.hpp"

namespace sluice::bench::doctor::doctor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Json backend(const std::string &name, bool has_device) {
  Json made_up = {{"name", name},           {"is_installed", true},         {"has_files", true},
                  {"masks", Json::array()}, {"hidden_by", Json::array()},   {"devices", Json::array()},
                  {"problem", ""},          {"is_on_host", false},          {"mpi_takes_it", has_device},
                  {"evidence", ""},         {"sluice_takes_it", has_device}};
  if (has_device) {
    made_up["devices"].push_back({{"name", "A device"}, {"runtime", ""}, {"pci_address", ""}, {"numa_node", 0}});
  } else {
    made_up["problem"] = "librun.so: cannot open shared object file";
  }
  return made_up;
}

Json rank_of(int rank, int n_ranks) {
  return {{"program_version", "0.1.0"},
          {"flavour", "mpich"},
          {"flavour_rule", "PMI_RANK is set"},
          {"started_by", {{"variable", "PMI_RANK"}, {"rank", rank}, {"n_ranks", n_ranks}}},
          {"start_line", ""},
          {"preload", {{"by", "doctor"}, {"library", "/lib/libsluice_mpich.so"}, {"problem", ""}}},
          {"knobs", Json::array()},
          {"knob_problems", Json::array()},
          {"module_problems", Json::array()},
          {"allowed_backends", "auto"},
          {"backends", {backend("one", true), backend("other", false)}},
          {"limits",
           {{"shared_memory_free_bytes", std::uint64_t{1} << 30},
            {"open_files", 65536},
            {"locked_bytes", nullptr},
            {"ptrace_scope", 1}}},
          {"rank", rank},
          {"n_ranks", n_ranks},
          {"n_local_ranks", n_ranks},
          {"host", "box"},
          {"mpi", "An MPI"},
          {"standard", "4.0"},
          {"thread_level", "multiple"},
          {"sluice",
           {{"is_there", true}, {"is_enabled", true}, {"version", "0.1.0"}, {"library", "/lib/libsluice_mpich.so"}}},
          {"cores", "0-3"},
          {"n_cores_of_node", 4},
          {"numa_node", 0},
          {"memory_kinds", "system,one:device"},
          {"device", 0},
          {"can_be_exported", true},
          {"pair_problem", ""}};
}

Json side_of(int rank, const std::string &route) {
  return {{"rank", rank},
          {"device", 0},
          {"short_route", route},
          {"long_route", route},
          {"is_right", true},
          {"fallbacks", Json::array()},
          {"warnings", Json::array()},
          {"latency_us", 12.5},
          {"bandwidth_gb_per_s", 3.25}};
}

Findings well(int n_ranks = 2) {
  Findings findings;
  findings.backend = "one";
  for (int rank = 0; rank < n_ranks; ++rank) findings.ranks.push_back(rank_of(rank, n_ranks));
  findings.pairs.push_back({{"ranks", {0, 1}}, {"sides", {side_of(0, "ipc"), side_of(1, "ipc")}}});
  return findings;
}

// All that is concluded, in one text.
std::string said_of(const Findings &findings) {
  std::string text;
  for (const Conclusion &conclusion : conclusions_of(findings)) {
    text += (conclusion.is_wrong ? "" : "note ") + conclusion.what + " " + conclusion.remedy + "\n";
  }
  return text;
}

TEST(RankList, FoldsNeighbours) {
  EXPECT_EQ(rank_list({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(rank_list({0, 1}), "0,1");
  EXPECT_EQ(named_ranks({5}), "rank 5");
}

TEST(Conclusions, AreNoneWhenAllIsWell) {
  EXPECT_THAT(said_of(well()), IsEmpty());
}

TEST(Conclusions, NameRanksWithoutSluice) {
  Findings findings = well();
  findings.ranks[1]["sluice"] = {{"is_there", false}, {"is_enabled", false}, {"version", ""}, {"library", ""}};
  findings.ranks[1]["preload"] = {{"by", "nobody"}, {"library", ""}, {"problem", "nobody named it"}};
  EXPECT_THAT(said_of(findings), HasSubstr("rank 1: Sluice is not in the process: nobody named it"));
  findings.ranks[1]["preload"]["library"] = "/lib/libsluice_mpich.so";
  EXPECT_THAT(said_of(findings), HasSubstr("/lib/libsluice_mpich.so was to be preloaded and is not in the process"));
}

TEST(Conclusions, NameWhatDiffers) {
  Findings findings = well(3);
  findings.ranks[2]["sluice"]["version"] = "0.0.9";
  findings.ranks[0]["knobs"] = {"SLUICE_LOG=info"};
  const std::string said = said_of(findings);
  EXPECT_THAT(said, HasSubstr("The versions of Sluice differ: ranks 0,1: 0.1.0; rank 2: 0.0.9."));
  EXPECT_THAT(said, HasSubstr("The SLUICE_* variables differ: rank 0: SLUICE_LOG=info; ranks 1,2: none."));
}

TEST(Conclusions, NameBuildsThatDiffer) {
  Findings findings = well();
  findings.ranks[0]["sluice"]["build"] = "0123456789abcdef";
  findings.ranks[1]["sluice"]["build"] = "0123456789abcdef";
  EXPECT_THAT(said_of(findings), IsEmpty());
  findings.ranks[1]["sluice"]["build"] = "f123456789abcdef";
  EXPECT_THAT(said_of(findings),
              HasSubstr("different builds of one version: rank 0: 0123456789ab; rank 1: f123456789ab."));
}

TEST(Conclusions, FindNoFaultWithHostMemoryBetweenNodes) {
  Findings findings = well();
  findings.pairs[0]["sides"] = {side_of(0, "pipelined"), side_of(1, "pipelined")};
  findings.pairs[0]["between_nodes"] = true;
  EXPECT_THAT(said_of(findings), IsEmpty());
  EXPECT_THAT(text_of_pairs(findings), HasSubstr("pipelined, to another node"));
}

TEST(Conclusions, NameLoneRanks) {
  Findings findings = well();
  findings.ranks.resize(1);
  findings.ranks[0]["n_ranks"] = 1;
  EXPECT_THAT(said_of(findings),
              HasSubstr("The launcher started 2 processes, and to the MPI they are jobs of 1 rank."));
}

TEST(Conclusions, NameVariablesAndLimits) {
  Findings findings = well();
  for (Json &rank : findings.ranks) rank["knob_problems"] = {"unknown knob SLUICE_X"};
  findings.ranks[1]["limits"]["shared_memory_free_bytes"] = 1 << 20;
  findings.ranks[0]["limits"]["open_files"] = 256;
  const std::string said = said_of(findings);
  EXPECT_THAT(said, HasSubstr("ranks 0,1: unknown knob SLUICE_X"));
  EXPECT_THAT(said, HasSubstr("rank 1: /dev/shm has less than 16 MiB free"));
  EXPECT_THAT(said, HasSubstr("rank 0: a process may have less than 1024 files open"));
}

TEST(Conclusions, NameMasksThatHideAllDevices) {
  Findings findings = well();
  findings.ranks[1]["backends"][1]["hidden_by"] = {"MASK"};
  EXPECT_THAT(said_of(findings), HasSubstr("rank 1: MASK hides all devices of the backend other."));
  findings.ranks[1]["backends"][1]["is_installed"] = false;
  EXPECT_THAT(said_of(findings), IsEmpty()) << "there is nothing to hide";
  findings.backend = "";
  findings.pairs.clear();
  for (Json &rank : findings.ranks) rank["backends"].erase(0);
  EXPECT_THAT(said_of(findings), HasSubstr("ranks 0,1: no device of the backend other: librun.so: cannot open"));
}

TEST(Conclusions, SayThatThereIsNoGpu) {
  Findings findings = well();
  for (Json &rank : findings.ranks) rank["backends"][0]["is_on_host"] = true;
  EXPECT_THAT(said_of(findings), HasSubstr("No device seems to be a GPU"));
  for (Json &rank : findings.ranks) rank["backends"].erase(1);
  EXPECT_THAT(said_of(findings), IsEmpty()) << "it was asked for";
}

TEST(Conclusions, NamePairsAndReasons) {
  Findings findings = well();
  findings.pairs[0]["sides"][1] = side_of(1, "pipelined");
  EXPECT_THAT(said_of(findings),
              HasSubstr("Between ranks 0 and 1: messages of 4 MiB go through the memory of the host"));
  findings.pairs[0]["sides"][1]["fallbacks"] = {"ipc_open"};
  findings.pairs[0]["sides"][1]["warnings"] = {"the handle is refused"};
  const std::string said = said_of(findings);
  EXPECT_THAT(said, HasSubstr("a faster way was refused (ipc_open). the handle is refused"));
  EXPECT_THAT(said, HasSubstr("ptrace_scope is 1"));
  EXPECT_THAT(said, Not(HasSubstr("nothing was refused")));
  findings.pairs[0]["sides"][0]["is_right"] = false;
  EXPECT_TRUE(has_fault(conclusions_of(findings)));
  EXPECT_THAT(said_of(findings), HasSubstr("the bytes that came are not those that were sent"));
}

TEST(Conclusions, OfPlacesCrowdsAndOfMemoryThatStaysAreNoFaults) {
  Findings findings = well();
  findings.ranks[1]["numa_node"] = 1;
  findings.ranks[0]["n_cores_of_node"] = 1;
  findings.pairs[0]["sides"] = {side_of(0, "pipelined"), side_of(1, "pipelined")};
  for (Json &rank : findings.ranks) rank["can_be_exported"] = false;
  EXPECT_FALSE(has_fault(conclusions_of(findings)));
  EXPECT_THAT(conclusions_of(findings), SizeIs(3));
}

TEST(ChooseBackend, TakesAGpuBeforeCores) {
  Findings findings = well();
  EXPECT_EQ(choose_backend(findings.ranks, ""), "one");
  for (Json &rank : findings.ranks) {
    rank["backends"][0]["is_on_host"] = true;
    rank["backends"][1] = backend("other", true);
  }
  EXPECT_EQ(choose_backend(findings.ranks, ""), "other");
  EXPECT_EQ(choose_backend(findings.ranks, "one"), "one");
  EXPECT_EQ(choose_backend(findings.ranks, "third"), "");
}

TEST(Text, FitsIntoAHundredColumns) {
  Findings findings = well(4);
  findings.ranks[2]["host"] = "another";
  findings.ranks[3]["mpi"] = std::string(40, 'm') + " " + std::string(60, 'n');
  findings.ranks[3]["knob_problems"] = {
      "a problem that takes many words to say, so many that they need a second line here"};
  findings.conclusions = conclusions_of(findings);
  std::istringstream lines(text_of_ranks(findings) + text_of_pairs(findings) + text_of_conclusions(findings));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Text, FoldsRanksWithEqualFacts) {
  Findings findings = well(4);
  findings.ranks[3]["host"] = "another";
  const std::string text = text_of_ranks(findings);
  EXPECT_THAT(text, HasSubstr("host              0-2       box\n"));
  EXPECT_THAT(text, HasSubstr("                  3         another\n"));
}

TEST(Json, IsOneObject) {
  Findings findings = well();
  findings.conclusions = conclusions_of(findings);
  const Json root = Json::parse(json_of(findings));
  EXPECT_TRUE(root.at("is_well").get<bool>());
  EXPECT_EQ(root.at("pairs")[0].at("sides")[0].at("long_route"), "ipc");
}

TEST(SaidLines, TakesTheWarningsOfTheLog) {
  EXPECT_EQ(warning_in("sluice[1] warning ops the text: why"), "the text: why");
  EXPECT_EQ(warning_in("sluice[pid 12] error base the text"), "the text");
  EXPECT_EQ(warning_in("sluice[1] info ops the text"), "");
  EXPECT_EQ(warning_in("sluice["), "");
  EXPECT_EQ(warning_in("another line"), "");
  SaidLines said;
  std::fputs("sluice[0] warning ops caught\n", stderr);
  EXPECT_THAT(said.take(), ElementsAre("caught"));
}

}  // namespace
}  // namespace sluice::bench::doctor::doctor_test
