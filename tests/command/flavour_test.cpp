// SPDX-License-Identifier: BSD-3-Clause
// Which flavour a library, a program and a whole command line have.
#include "command/flavour.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "command/flavour_choice.hpp"

namespace sluice::command::flavour_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char *kFixtures = SLUICE_TEST_FIXTURES;

std::string program(const std::string &name) {
  return std::string(kFixtures).append("/program.").append(name);
}

Launcher launcher_of(LauncherKind kind) {
  return {0, kind, "/usr/bin/mpiexec", ""};
}

// An executable file with this text.
std::string script(const std::string &leaf, const std::string &text) {
  const fs::path path = fs::path(testing::TempDir()) / (leaf + "." + std::to_string(getpid()));
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

TEST(Flavour_IsTold, ByTheLibrarysName) {
  EXPECT_EQ(flavour_of_library("libmpi.so.12"), Flavour::kMpich);
  EXPECT_EQ(flavour_of_library("libmpich.so.12"), Flavour::kMpich);
  EXPECT_EQ(flavour_of_library("libmpi.so.40"), Flavour::kOmpi);
  EXPECT_EQ(flavour_of_library("libmpi_abi.so.1"), Flavour::kAbi);
  EXPECT_EQ(flavour_of_library("libmpi_abi.so.0"), Flavour::kAbi);
  EXPECT_EQ(flavour_of_library("libmpi.so.20"), std::nullopt);
  EXPECT_TRUE(is_mpi_library("libmpi.so.20"));
  EXPECT_FALSE(is_mpi_library("libmpi_mpifh.so.40"));
  EXPECT_FALSE(is_mpi_library("libc.so.6"));
}

TEST(Flavour_OfAProgram, IsThatOfTheMpiItNeeds) {
  EXPECT_EQ(mpi_of_program(program("mpich")).flavour, Flavour::kMpich);
  EXPECT_EQ(mpi_of_program(program("ompi")).flavour, Flavour::kOmpi);
  EXPECT_EQ(mpi_of_program(program("abi")).flavour, Flavour::kAbi);
}

TEST(Flavour_OfAProgram, IsFoundThroughItsLibraries) {
  const ProgramMpi found = mpi_of_program(program("solver"));
  EXPECT_EQ(found.flavour, Flavour::kOmpi);
  EXPECT_THAT(found.needed_by.string(), HasSubstr("libcommand_solver.so"));
}

TEST(Flavour_OfAProgram, IsEmptyWithoutMpi) {
  EXPECT_TRUE(mpi_of_program(program("plain")).library.empty());
}

TEST(Choice_Takes, TheFirstMpiProgramOfTheCommand) {
  FlavourChoice choice;
  const Status status = choose_flavour({"mpiexec", "-n", "2", "env", "A=1", program("ompi"), program("mpich")},
                                       launcher_of(LauncherKind::kHydra), &choice);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(choice.flavour, Flavour::kOmpi);
}

TEST(Choice_Takes, TheLaunchersMpiForAScript) {
  const std::string path = script("sluice_choice", "#!/bin/sh\n");
  FlavourChoice choice;
  ASSERT_TRUE(choose_flavour({"mpiexec", path}, launcher_of(LauncherKind::kOpenMpi), &choice).is_ok());
  EXPECT_EQ(choice.flavour, Flavour::kOmpi);
  EXPECT_THAT(choice.rule, HasSubstr("script"));
  ASSERT_TRUE(choose_flavour({"mpiexec", path}, launcher_of(LauncherKind::kHydra), &choice).is_ok());
  EXPECT_EQ(choice.flavour, Flavour::kMpich);
}

TEST(Choice_Takes, TheMpiOfThePythonsMpi4py) {
  const fs::path package = fs::path(testing::TempDir()) / ("sluice_mpi4py." + std::to_string(getpid()));
  fs::create_directories(package);
  fs::copy_file(program("abi"), package / "MPI.cpython.so", fs::copy_options::overwrite_existing);
  // Stands in for an interpreter: answers the question where its mpi4py lies.
  const std::string python = script("python_sluice", "#!/bin/sh\necho a warning\necho " + package.string() + "\n");
  const std::string path = script("sluice_app", "#!" + python + "\n");
  FlavourChoice choice;
  const Status status = choose_flavour({"mpiexec", path}, launcher_of(LauncherKind::kHydra), &choice);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(choice.flavour, Flavour::kAbi);
  EXPECT_THAT(choice.rule, HasSubstr("mpi4py"));
}

TEST(Choice_Fails, ForAScriptWithoutALauncher) {
  FlavourChoice choice;
  const Status status = choose_flavour({script("sluice_choice", "#!/bin/sh\n")}, std::nullopt, &choice);
  EXPECT_THAT(status.message(), HasSubstr("--mpi"));
}

TEST(Choice_Fails, WithoutAnMpiProgram) {
  FlavourChoice choice;
  const Status status =
      choose_flavour({"mpiexec", "-n", "2", program("plain")}, launcher_of(LauncherKind::kHydra), &choice);
  EXPECT_FALSE(status.is_ok());
  EXPECT_THAT(status.message(), HasSubstr("program.plain is not linked to an MPI"));
  EXPECT_THAT(choose_flavour({"mpiexec", "no-such-program"}, launcher_of(LauncherKind::kHydra), &choice).message(),
              HasSubstr("no word of the command"));
}

TEST(Choice_Fails, ForAnUnknownInterface) {
  FlavourChoice choice;
  EXPECT_THAT(choose_flavour({program("old")}, std::nullopt, &choice).message(), HasSubstr("libmpi.so.20"));
}

TEST(Choice_Fails, WhenTheProgramsDiffer) {
  FlavourChoice choice;
  const Status status = choose_flavour({"mpiexec", "-n", "1", program("mpich"), ":", "-n", "1", program("ompi")},
                                       launcher_of(LauncherKind::kHydra), &choice);
  EXPECT_THAT(status.message(), HasSubstr("different MPIs"));
}

}  // namespace
}  // namespace sluice::command::flavour_test
