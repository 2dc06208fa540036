// SPDX-License-Identifier: BSD-3-Clause
// The table and the JSON document of known results.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/report/csv_report.hpp"
#include "bench/report/json_report.hpp"
#include "bench/report/progress.hpp"
#include "bench/report/run_environment.hpp"
#include "bench/report/table.hpp"

namespace sluice::bench::report_test {
namespace {

const std::array kTests{TestInfo{.name = "latency", .title = "t"},
                        TestInfo{.name = "bw", .title = "t", .metric = Metric::bandwidth_mbps, .min_size = 1}};

Options parse(const std::vector<std::string> &arguments) {
  return parse_options(arguments, kTests);
}

std::vector<std::string> words_of(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

Row row_of(const std::vector<Series> &series) {
  Row row;
  row.size_bytes = 64;
  row.check.n_iterations = 4;
  row.series = series;
  return row;
}

using Words = std::vector<std::string>;

TEST(Table, PrintsSizeThenMean_AsOsuDoes) {
  const Options options = parse({"latency"});
  const Row row = row_of({{"direct", {summarise({1, 2, 6}, {})}}});
  EXPECT_EQ(words_of(Table(options).line(row)), (Words{"64", "3.000", "2.000", "1.000", "6.000", "Pass"}));
  EXPECT_EQ(words_of(Table(options).heading({{"direct"}, {}})),
            (Words{"#", "Size", "Avg", "Latency(us)", "Median", "Min", "P99", "Validation"}));
}

TEST(Progress, SaysWhichTestAndSize) {
  Options options = parse({"latency", "--sizes", "8,64K"});
  EXPECT_EQ(progress_text(options, 0, std::chrono::seconds(0)), "latency: size 1 of 2 (8 B), 0 s");
  options.run_number = 2;
  options.n_runs = 5;
  EXPECT_EQ(progress_text(options, 1, std::chrono::seconds(75)), "test 2 of 5, latency: size 2 of 2 (65536 B), 75 s");
  EXPECT_EQ(progress_text(options, 2, std::chrono::seconds(80)), "test 2 of 5, latency, 80 s");
}

TEST(Table, HasTheColumnsAskedFor) {
  const Options options = parse({"bw", "-f", "-z90", "--check", "none"});
  EXPECT_EQ(words_of(Table(options).heading({{"direct"}, {}})),
            (Words{"#", "Size", "Avg", "MB/s", "Median", "Min", "P99", "Max", "Stddev", "Samples", "P90"}));
  const Row row = row_of({{"direct", {summarise({1, 2, 6}, options.percentiles)}}});
  EXPECT_EQ(words_of(Table(options).line(row)).size(), 9U);
}

TEST(Table, PrintsRatio_WhenRoutesAreCompared) {
  const Options options = parse({"latency", "-d", "any", "--compare-naive", "--repeat", "2"});
  const Row row = row_of(
      {{"direct", {summarise({1}, {}), summarise({3}, {})}}, {"naive", {summarise({2}, {}), summarise({4}, {})}}});
  EXPECT_EQ(words_of(Table(options).line(row)), (Words{"64", "2.000", "3.000", "0.625", "[0.500..0.750]", "Pass"}));
}

TEST(Table, SaysFail_WhenTheCheckFailed) {
  const Options options = parse({"latency"});
  Row row = row_of({});
  row.check.failure = "wrong";
  EXPECT_EQ(words_of(Table(options).line(row)), (Words{"64", "-", "Fail"}));
}

TEST(Json, HasWhatTheSchemaPromises) {
  ASSERT_EQ(::setenv("SLUICE_BENCH_TEST_VARIABLE", "a=b", 1), 0);
  const Options options = parse({"latency", "-d", "any", "--compare-naive", "--repeat", "2", "-z50"});
  const Row row = row_of({{"direct", {summarise({1}, options.percentiles), summarise({3}, options.percentiles)}},
                          {"naive", {summarise({2}, options.percentiles), summarise({4}, options.percentiles)}}});
  RunRecord run;
  run.command = {"sluice-bench", "latency"};
  run.ranks = nlohmann::json::array();
  const nlohmann::json document = json_document(options, run, {}, {row}, "");
  EXPECT_EQ(document.at("schema"), "sluice-bench");
  EXPECT_EQ(document.at("schema_version"), kSchemaVersion);
  EXPECT_EQ(document.at("status"), "ok");
  EXPECT_FALSE(document.contains("error"));
  EXPECT_EQ(document.at("environment").at("SLUICE_BENCH_TEST_VARIABLE"), "a=b");
  EXPECT_EQ(document.at("metric").at("better"), "lower");
  const nlohmann::json &first = document.at("rows").at(0);
  EXPECT_EQ(first.at("size_bytes"), 64U);
  EXPECT_EQ(first.at("check").at("passed"), true);
  EXPECT_DOUBLE_EQ(first.at("ratio").at("median"), 0.625);
  EXPECT_EQ(first.at("series").at(1).at("name"), "naive");
  EXPECT_DOUBLE_EQ(first.at("series").at(1).at("medians").at("max"), 4);
  EXPECT_DOUBLE_EQ(first.at("series").at(0).at("blocks").at(1).at("percentiles").at("50"), 3);
}

TEST(Csv, HasALineForEachBlock) {
  const Options options = parse({"latency", "--repeat", "2", "-z50"});
  const Columns columns{{"direct"}, {{"rate", "Rate"}}};
  Row row = row_of({{"direct", {summarise({1}, options.percentiles), summarise({3}, options.percentiles)}}});
  row.extras = {7};
  Row failed = row_of({});
  failed.check.failure = "wrong";
  std::istringstream text(csv_document(options, columns, {row, failed}));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], "latency,64,pass,direct,0,us,1,1,1,1,1,1,0,1,1,1,7");
  EXPECT_EQ(lines[2], "latency,64,pass,direct,1,us,1,3,3,3,3,3,0,3,3,3,7");
  EXPECT_EQ(lines[3].substr(0, 16), "latency,64,fail,");
  for (const std::string &line : lines) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 16) << line;
  }
}

TEST(Json, HoldsTheVariables_ThatCanChangeAResult) {
  for (const char *name : {"SLUICE_X", "MPIR_CVAR_CH4_X", "I_MPI_X", "OMPI_MCA_btl", "UCX_TLS", "FI_PROVIDER", "ZE_X",
                           "NCCL_X", "OMP_NUM_THREADS", "SLURM_CPU_BIND_LIST", "LD_PRELOAD"}) {
    EXPECT_TRUE(can_change_results(name)) << name;
  }
  for (const char *name : {"HOME", "PATH", "SLURM_JWT", "SLURM_JOB_NAME", "OMPI_MCA_orte_hnp_uri", "FI_X_API_KEY",
                           "MY_UCX_TLS", "OMPI_COMM_WORLD_RANK", "CCL_TOKEN"}) {
    EXPECT_FALSE(can_change_results(name)) << name;
  }
  ASSERT_EQ(::setenv("UCX_TEST_VARIABLE", "a,b=c", 1), 0);
  ASSERT_EQ(::setenv("FI_TEST_VARIABLE", "", 1), 0);
  ASSERT_EQ(::setenv("FI_TEST_TOKEN", "hidden", 1), 0);
  RunRecord run;
  run.ranks = nlohmann::json::array();
  const nlohmann::json document = json_document(parse({"latency"}), run, {}, {}, "");
  const nlohmann::json &variables = document.at("environment");
  EXPECT_EQ(variables.at("UCX_TEST_VARIABLE"), "a,b=c");
  EXPECT_EQ(variables.at("FI_TEST_VARIABLE"), "");
  EXPECT_FALSE(variables.contains("FI_TEST_TOKEN"));
  EXPECT_FALSE(variables.contains("HOME"));
}

TEST(Json, SaysWhy_WhenTheRunFailed) {
  const Options options = parse({"bw"});
  RunRecord run;
  run.ranks = nlohmann::json::array();
  const nlohmann::json document = json_document(options, run, {}, {}, "rank 1: wrong");
  EXPECT_EQ(document.at("status"), "failed");
  EXPECT_EQ(document.at("error"), "rank 1: wrong");
  EXPECT_EQ(document.at("metric").at("unit"), "MB/s");
}

}  // namespace
}  // namespace sluice::bench::report_test
