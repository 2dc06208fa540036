// SPDX-License-Identifier: BSD-3-Clause
// `sluice doctor` before MPI is there: which launcher, which flavour, which preload.
#include "command/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice::command::doctor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

std::optional<StartedBy> starter_of(const Variables &variables) {
  return find_starter([&variables](const char *name) -> const char * {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  });
}

TEST(FindStarter, KnowsTheVariablesOfLaunchers) {
  const auto hydra = starter_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}});
  ASSERT_TRUE(hydra);
  EXPECT_EQ(hydra->rank, 1);
  EXPECT_EQ(hydra->n_ranks, 4);
  EXPECT_THAT(hydra->flavours, ElementsAre(Flavour::kMpich, Flavour::kAbi));
  const auto open_mpi = starter_of({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->variable, "OMPI_COMM_WORLD_RANK");
  EXPECT_THAT(open_mpi->flavours, ElementsAre(Flavour::kOmpi, Flavour::kAbi));
}

TEST(FindStarter, TellsTheInnerLauncherFromTheBatchSystem) {
  const auto inner = starter_of({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"PMI_RANK", "3"}});
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->variable, "PMI_RANK");
  EXPECT_EQ(inner->n_ranks, -1);
}

TEST(FindStarter, IsEmptyInABatchScript) {
  EXPECT_FALSE(starter_of({}));
  EXPECT_FALSE(starter_of({{"SLURM_PROCID", "0"}}));
  EXPECT_FALSE(starter_of({{"PMI_RANK", "many"}}));
}

TEST(FlavoursToTry, PutWhatIsPreloadedFirst) {
  const auto hydra = starter_of({{"PMI_RANK", "1"}});
  EXPECT_THAT(flavours_to_try(hydra, {}, {}), ElementsAre(Flavour::kMpich, Flavour::kAbi));
  EXPECT_THAT(flavours_to_try(hydra, Flavour::kAbi, {}), ElementsAre(Flavour::kAbi, Flavour::kMpich));
  EXPECT_THAT(flavours_to_try(hydra, Flavour::kOmpi, {}), ElementsAre(Flavour::kMpich, Flavour::kAbi));
  EXPECT_THAT(flavours_to_try({}, {}, Flavour::kOmpi), ElementsAre(Flavour::kOmpi, Flavour::kMpich, Flavour::kAbi));
}

Installation installation() {
  Installation made_up;
  made_up.library_folder = "/opt/lib";
  made_up.libraries = {{Flavour::kMpich, "/opt/lib/libsluice_mpich.so"}};
  return made_up;
}

DoctorPreload plan(const std::string &existing, Flavour flavour, bool adds) {
  return plan_doctor_preload(existing, flavour, installation(), "/nonexistent", adds);
}

TEST(DoctorPreload, AddsTheLibraryInFrontOfOthers) {
  const DoctorPreload added = plan("libidle.so", Flavour::kMpich, true);
  EXPECT_EQ(added.list, "/opt/lib/libsluice_mpich.so:libidle.so");
  EXPECT_EQ(added.by, "doctor");
  EXPECT_THAT(added.problem, IsEmpty());
}

TEST(DoctorPreload, KeepsWhatTheUserPreloads) {
  for (const bool adds : {true, false}) {
    const DoctorPreload kept = plan("/home/lib/libsluice_mpich.so libidle.so", Flavour::kMpich, adds);
    EXPECT_EQ(kept.list, "/home/lib/libsluice_mpich.so:libidle.so");
    EXPECT_EQ(kept.by, "you");
    EXPECT_EQ(kept.library, "/home/lib/libsluice_mpich.so");
    EXPECT_THAT(kept.problem, IsEmpty());
  }
}

TEST(DoctorPreload, LeavesOutALibraryOfAnotherFlavour) {
  const DoctorPreload replaced = plan("/home/lib/libsluice_ompi.so", Flavour::kMpich, true);
  EXPECT_EQ(replaced.list, "/opt/lib/libsluice_mpich.so");
  EXPECT_THAT(replaced.problem, HasSubstr("LD_PRELOAD names /home/lib/libsluice_ompi.so, which is for the Open MPI"));
}

TEST(DoctorPreload, SaysWhyThereIsNone) {
  EXPECT_THAT(plan("", Flavour::kMpich, false).problem, HasSubstr("--no-preload"));
  const DoctorPreload missing = plan("", Flavour::kOmpi, true);
  EXPECT_EQ(missing.by, "nobody");
  EXPECT_EQ(missing.list, "");
  EXPECT_EQ(missing.problem, "libsluice_ompi.so is not in /opt/lib");
}

}  // namespace
}  // namespace sluice::command::doctor_test
