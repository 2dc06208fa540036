// SPDX-License-Identifier: BSD-3-Clause
// Recognising launchers, and what they must be told.
#include "command/launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace sluice::command::launcher_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// A launcher of that name that says of itself what `said` holds.
std::string fake_launcher(const std::string &said, const char *leaf = "mpirun") {
  const fs::path folder = fs::path(testing::TempDir()) / ("sluice_launcher." + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path path = folder / leaf;
  std::ofstream(path) << "#!/bin/sh\necho '" << said << "'\n";
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

LauncherKind kind_of(const std::string &said) {
  const auto launcher = find_launcher({"env", "A=1", fake_launcher(said), "-n", "2"});
  EXPECT_TRUE(launcher.has_value());
  return launcher ? launcher->kind : LauncherKind::kOther;
}

TEST(Launcher_IsIdentified, ByWhatItSays) {
  EXPECT_EQ(kind_of("mpirun (Open MPI) 5.0.11"), LauncherKind::kOpenMpi);
  EXPECT_EQ(kind_of("HYDRA build details:"), LauncherKind::kHydra);
  EXPECT_EQ(kind_of("Intel(R) MPI Library for Linux* OS, Version 2021.18"), LauncherKind::kHydra);
  EXPECT_EQ(kind_of("something else"), LauncherKind::kOther);
}

TEST(Launcher_IsIdentified, ByItsName_WhereItTakesOpenMpisOptions) {
  for (const char *leaf : {"orterun", "prterun", "prun"}) {
    const auto launcher = find_launcher({fake_launcher("something else", leaf), "-n", "2"});
    if (!launcher) FAIL() << leaf;
    EXPECT_EQ(launcher->kind, LauncherKind::kOpenMpi) << leaf;
  }
}

TEST(Launcher_IsFound, AnywhereInTheCommand) {
  const auto launcher = find_launcher({"timeout", "9", fake_launcher("HYDRA")});
  if (!launcher) FAIL() << "no launcher found";
  EXPECT_EQ(launcher->position, 2U);
  EXPECT_FALSE(find_launcher({"./app", "-n"}).has_value());
}

TEST(Launcher_OfOpenMpi, IsToldTheVariables) {
  const Launcher launcher{1, LauncherKind::kOpenMpi, "/usr/bin/mpirun", ""};
  EXPECT_THAT(with_variables({"env", "mpirun", "-n", "2", "./app"}, launcher, {"LD_PRELOAD", "SLUICE_STATS"}),
              ElementsAre("env", "mpirun", "-x", "LD_PRELOAD", "-x", "SLUICE_STATS", "-n", "2", "./app"));
}

TEST(Launcher_OfOpenMpi, IsNotToldTwice) {
  const Launcher launcher{0, LauncherKind::kOpenMpi, "/usr/bin/mpirun", ""};
  EXPECT_THAT(with_variables({"mpirun", "-x", "LD_PRELOAD=a", "./app"}, launcher, {"LD_PRELOAD"}),
              ElementsAre("mpirun", "-x", "LD_PRELOAD=a", "./app"));
}

TEST(Launcher_OfHydra, NeedsNoTelling) {
  const Launcher launcher{0, LauncherKind::kHydra, "/usr/bin/mpiexec", ""};
  EXPECT_THAT(with_variables({"mpiexec", "./app"}, launcher, {"LD_PRELOAD"}), ElementsAre("mpiexec", "./app"));
}

}  // namespace
}  // namespace sluice::command::launcher_test
