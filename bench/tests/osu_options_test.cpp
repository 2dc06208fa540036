// SPDX-License-Identifier: BSD-3-Clause
// What OSU's scripts say and we have otherwise: understood, accepted with a note, or refused with what to use instead.
#include "bench/cli/osu_options.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace sluice::bench::osu_options_test {
namespace {

using Words = std::vector<std::string>;

const std::array kOsuTests{
    TestInfo{.name = "bcast", .title = "t", .family = Family::coll, .max_ranks = 0, .has_element_type = true},
    TestInfo{.name = "latency", .title = "t", .has_derived_types = true},
    TestInfo{.name = "mbw_mr", .title = "t", .max_ranks = 0, .is_paired = true},
    TestInfo{.name = "neighbors", .title = "t", .family = Family::coll, .max_ranks = 0, .has_two_buffers = true}};

Options read(const Words &words) {
  return parse_options(words, kOsuTests);
}

std::string refusal_of(const Words &words) {
  try {
    read(words);
  } catch (const OptionError &error) {
    return error.what();
  }
  return "no error";
}

void expect_refusal(const Words &words, const std::string &part) {
  const std::string text = refusal_of(words);
  EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(OsuWords, AreRefused_WithWhatToUseInstead) {
  expect_refusal({"mbw_mr", "-V", "1"}, "-V: one window a run: give -W 1");
  expect_refusal({"latency", "-G", "png"}, "-G: no graphs from here: --json FILE, then sluice-bench report");
  expect_refusal({"latency", "-P", "PAPI_TOT_INS:f"},
                 "-P: no counters of the processor from here: run the ranks below");
  expect_refusal({"latency", "-I"}, "-I: no sessions: ranks begin with MPI_Init_thread");
  expect_refusal({"bcast", "-l"}, "-l: no MPI_IN_PLACE: without -l");
  expect_refusal({"bcast", "-k", "rotate"}, "-k rotate: one root a run: -k fixed:RANK");
  expect_refusal({"bcast", "-k", "2"}, "-k: '2' is not fixed:RANK");
  expect_refusal({"bcast", "-k", "fixed:-1"}, "-k: 'fixed:-1' is not fixed:RANK");
  expect_refusal({"latency", "-k", "fixed:1"}, "latency has no root, and takes no -k");
  expect_refusal({"latency", "-p", "1"}, "latency takes no -p 1: tests of pairs do");
  expect_refusal({"latency", "-D", "indx:types"}, "hindexed:STRIDE:BLOCK");
  expect_refusal({"neighbors", "-N", "graph:edges"}, "-N: neighbourhoods are not read from a file: cart:");
}

TEST(OsuWords, NameTestsThatAreNotHere) {
  expect_refusal({"put_bibw"}, "OSU's put_bibw has no counterpart here: put_bw puts one way; bibw");
  expect_refusal({"latency_mp"}, "latency_mt has pairs of threads");
  expect_refusal({"hello"}, "init says how long MPI_Init took");
  expect_refusal({"xccl_allreduce"}, "bench/compare_peers");
  expect_refusal({"oshm_put"}, "this program measures MPI");
  expect_refusal({"upcxx_bcast"}, "this program measures MPI");
}

TEST(OsuWords, AreAcceptedWithANote_WhereResultsStay) {
  const Options options = read({"latency", "-u", "7", "-a", "64", "-R", "0", "-M", "512", "-clog:/x"});
  EXPECT_EQ(options.notes.size(), 5U);
  EXPECT_EQ(options.check, CheckMode::all);
  EXPECT_EQ(read({"latency", "-c", "log:/x"}).check, CheckMode::all);
  EXPECT_EQ(read({"latency", "--validation=log:/x"}).notes.size(), 1U);
  EXPECT_TRUE(read({"mbw_mr", "-V", "0", "-R", "1", "-c"}).notes.empty());
  EXPECT_EQ(read({"latency", "-T", "mpi_int"}).notes.size(), 1U);
}

TEST(OsuWords, MeanTheSame_WhereWeHaveIt) {
  EXPECT_EQ(read({"mbw_mr", "-p", "3"}).n_pairs, 3U);
  EXPECT_EQ(read({"mbw_mr", "--num-pairs", "3"}).n_pairs, 3U);
  EXPECT_EQ(read({"bcast", "-k", "fixed:2"}).root, 2);
  EXPECT_EQ(read({"bcast", "--root-rank", "fixed:2"}).notes, (Words{"the root is rank 2"}));
  EXPECT_EQ(read({"latency", "--tail-lat", "H", "H"}).percentiles, (std::vector<double>{50, 90, 99}));
  EXPECT_EQ(read({"neighbors", "--nhbr", "cart:2:1"}).family.topology.dimensions, 2);
}

TEST(OsuWords, NameModules) {
  EXPECT_EQ(read({"latency", "-d", "rocm", "D", "H"}).device, "hip");
  const Options managed = read({"latency", "-d", "managed"});
  EXPECT_EQ(managed.device, "cuda");
  EXPECT_EQ(managed.placement, (std::array{SLUICE_MEMORY_SHARED, SLUICE_MEMORY_SHARED}));
  EXPECT_EQ(read({"bcast", "-d", "managed", "D,H"}).placement, (std::array{SLUICE_MEMORY_SHARED, SLUICE_MEMORY_HOST}));
  const Options sides = read({"neighbors", "-d", "managed", "D/H"});
  EXPECT_EQ(sides.placement, (std::array{SLUICE_MEMORY_SHARED, SLUICE_MEMORY_SHARED}));
  EXPECT_EQ(sides.recv_placement, (std::array{SLUICE_MEMORY_HOST, SLUICE_MEMORY_HOST}));
  EXPECT_EQ(read({"latency", "-d", "managed", "H", "D"}).placement,
            (std::array{SLUICE_MEMORY_HOST, SLUICE_MEMORY_SHARED}));
}

TEST(OsuWords, ListTypes_ARunForEach) {
  const std::vector<Options> runs =
      parse_runs({"bcast,latency", "-T", "all,mpi_double,mpi_int", "--json", "d"}, kOsuTests);
  std::vector<std::string> found;
  for (const Options &options : runs) found.push_back(options.json_path);
  EXPECT_EQ(found, (Words{"d/bcast.mpi_char.json", "d/bcast.mpi_int.json", "d/bcast.mpi_float.json",
                          "d/bcast.mpi_double.json", "d/latency.json"}));
  EXPECT_EQ(runs[3].family.type, ElementType::float64);
  expect_refusal({"bcast", "-T", "mpi_int,mpi_half"}, "-T: 'mpi_half' is unknown");
  expect_refusal({"latency", "-T", "mpi_int,mpi_half"}, "-T: 'mpi_half' is unknown");
}

}  // namespace
}  // namespace sluice::bench::osu_options_test
