// SPDX-License-Identifier: BSD-3-Clause
// What `sluice run --bind` is told, by its user and by launchers, and where it goes into a command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/local_rank.hpp"
#include "command/bind_rule.hpp"
#include "command/flavour_choice.hpp"

namespace sluice::command::bind_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::optional<LocalRank> rank_in(const std::map<std::string, std::string> &variables) {
  return find_local_rank([&variables](const char *name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// rank/number of ranks, "" when nothing is told.
std::string told(const std::map<std::string, std::string> &variables) {
  const std::optional<LocalRank> found = rank_in(variables);
  return found ? std::to_string(found->rank) + "/" + std::to_string(found->n_ranks) : "";
}

TEST(LocalRank_IsFound, UnderEachLauncher) {
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}), "3/4");
  EXPECT_EQ(told({{"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}}), "1/2");
  EXPECT_EQ(told({{"PALS_LOCAL_RANKID", "5"}, {"PALS_LOCAL_SIZE", "12"}}), "5/12");
  EXPECT_EQ(told({{"PMI_LOCAL_RANK", "5"}, {"PMI_LOCAL_SIZE", "12"}}), "5/12");
  EXPECT_EQ(told({{"MV2_COMM_WORLD_LOCAL_RANK", "1"}, {"MV2_COMM_WORLD_LOCAL_SIZE", "8"}}), "1/8");
  EXPECT_EQ(told({{"JSM_NAMESPACE_LOCAL_RANK", "2"}, {"JSM_NAMESPACE_LOCAL_SIZE", "6"}}), "2/6");
  EXPECT_EQ(told({{"FLUX_TASK_LOCAL_ID", "6"}}), "6/-1");
  EXPECT_EQ(told({{"SLURM_LOCALID", "2"}, {"SLURM_NODEID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "4"}}), "2/4");
  EXPECT_EQ(rank_in({{"MPI_LOCALRANKID", "1"}})->variable, "MPI_LOCALRANKID");
}

TEST(LocalRank_IsFound, OnTheNodeThatSlurmMeans) {
  const std::map<std::string, std::string> step = {{"SLURM_LOCALID", "1"},
                                                   {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3,2(x3)"}};
  for (const auto &[node, n_ranks] :
       std::map<std::string, std::string>{{"0", "4"}, {"1", "4"}, {"2", "3"}, {"5", "2"}}) {
    std::map<std::string, std::string> variables = step;
    variables["SLURM_NODEID"] = node;
    EXPECT_EQ(told(variables), "1/" + n_ranks) << node;
  }
  std::map<std::string, std::string> variables = step;
  variables["SLURM_NODEID"] = "6";  // beyond the last
  EXPECT_EQ(told(variables), "1/-1");
  variables["SLURM_NODEID"] = "0";
  for (const char *text : {"4(x", "4x2)", "(x2)", "", "many", "4(x0)"}) {
    variables["SLURM_STEP_TASKS_PER_NODE"] = text;
    EXPECT_EQ(told(variables), "1/-1") << text;
  }
}

// A batch script has a rank of the batch system's own; what an MPI's launcher starts inside it inherits that.
TEST(LocalRank_IsFound, OfTheLauncherInsideABatchJob) {
  std::map<std::string, std::string> variables = {{"SLURM_LOCALID", "0"}, {"PALS_LOCAL_RANKID", "0"}};
  variables.insert({{"MPI_LOCALRANKID", "3"}, {"MPI_LOCALNRANKS", "4"}});
  EXPECT_EQ(told(variables), "3/4");
  variables.insert({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(told(variables), "1/2");
}

// PBS has no variable for ranks: what it sets counts nodes and tasks of its own, in whichever launcher's job.
TEST(LocalRank_IsFound, OfTheLauncherInsideAPbsJob) {
  const std::map<std::string, std::string> job = {
      {"PBS_JOBID", "17.head"}, {"PBS_NODENUM", "1"}, {"PBS_TASKNUM", "5"}, {"PBS_VNODENUM", "9"}, {"NCPUS", "104"}};
  EXPECT_EQ(told(job), "");
  std::map<std::string, std::string> pals = job;
  pals.insert({{"PALS_RANKID", "17"}, {"PALS_NODEID", "1"}, {"PALS_LOCAL_RANKID", "5"}, {"PALS_LOCAL_SIZE", "12"}});
  pals.insert({{"PMI_RANK", "17"}, {"PMI_LOCAL_RANK", "5"}, {"PMI_LOCAL_SIZE", "12"}});
  EXPECT_EQ(told(pals), "5/12");
  EXPECT_EQ(rank_in(pals)->variable, "PALS_LOCAL_RANKID");
  std::map<std::string, std::string> hydra = job;
  hydra.insert({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}});
  EXPECT_EQ(told(hydra), "1/4");
  std::map<std::string, std::string> ompi = job;
  ompi.insert(
      {{"OMPI_COMM_WORLD_RANK", "6"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  EXPECT_EQ(told(ompi), "2/4");
}

// srun starts the ranks; the script that called it is task 0 of a step of one task.
TEST(LocalRank_IsFound, OfTheStepInsideASlurmJob) {
  EXPECT_EQ(told({{"SLURM_JOBID", "9"},
                  {"SLURM_TASKS_PER_NODE", "1(x2)"},
                  {"SLURM_PROCID", "5"},
                  {"SLURM_LOCALID", "1"},
                  {"SLURM_NODEID", "1"},
                  {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}}),
            "1/4");
  // Intel MPI's and MPICH's hydra start their proxies by srun, one a node: the proxy's number is not the rank's.
  EXPECT_EQ(told({{"SLURM_LOCALID", "0"},
                  {"SLURM_NODEID", "1"},
                  {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                  {"MPI_LOCALRANKID", "3"},
                  {"MPI_LOCALNRANKS", "4"}}),
            "3/4");
}

TEST(LocalRank_IsNotFound, InTextsThatAreNone) {
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told({{"MPI_LOCALRANKID", "first"}}), "");
  EXPECT_EQ(told({{"MPI_LOCALRANKID", "-1"}}), "");
  EXPECT_EQ(told({{"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "2"}}), "");
}

TEST(BindRule_IsRead, FromItsThreeWords) {
  BindRule rule;
  ASSERT_TRUE(parse_bind_rule("none", &rule).is_ok());
  EXPECT_EQ(rule.kind, BindKind::kNone);
  ASSERT_TRUE(parse_bind_rule("closest", &rule).is_ok());
  EXPECT_EQ(rule.kind, BindKind::kClosest);
  ASSERT_TRUE(parse_bind_rule("list:0,2,2", &rule).is_ok());
  EXPECT_EQ(rule.kind, BindKind::kList);
  EXPECT_THAT(rule.devices, ElementsAre(0, 2, 2));
}

TEST(BindRule_IsRefused, WithTheWrongWord) {
  BindRule rule;
  for (const char *text :
       {"", "near", "list", "list:", "list:0,", "list:,1", "list:-1", "list:0;1", "list:1.5", "list:9999999999"}) {
    const Status status = parse_bind_rule(text, &rule);
    EXPECT_FALSE(status.is_ok()) << text;
    EXPECT_THAT(status.message(), HasSubstr("--bind")) << text;
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << text;
  }
}

std::vector<std::size_t> programs_of(const std::vector<std::string> &command) {
  std::vector<std::size_t> positions;
  Launcher launcher;
  const Status status = find_programs(command, launcher, &positions);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return positions;
}

TEST(Programs_AreFound, BehindTheLaunchersOptions) {
  const std::string folder = SLUICE_TEST_FIXTURES;
  const std::string program = folder + "/program.mpich";
  EXPECT_THAT(programs_of({"mpiexec", "-n", "4", program, "ls"}), ElementsAre(3));
  EXPECT_THAT(programs_of({"mpiexec", "-n", "4", "env", "A=1", program}), ElementsAre(5));
  EXPECT_THAT(programs_of({"mpiexec", "--map-by", "sort", program, ":", "-n", "2", program}), ElementsAre(3, 7));
  // Nothing here shows an MPI: the interpreter, or the first that can be run.
  EXPECT_THAT(programs_of({"mpiexec", "-n", "4", "python3", "solve.py"}), ElementsAre(3));
  EXPECT_THAT(programs_of({"mpiexec", "-n", "4", folder + "/program.plain"}), ElementsAre(3));
  std::vector<std::size_t> positions;
  EXPECT_THAT(find_programs({"mpiexec", "-n", "4", "./absent"}, Launcher(), &positions).message(),
              HasSubstr("no word of the command names a program"));
}

}  // namespace
}  // namespace sluice::command::bind_test
