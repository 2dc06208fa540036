// SPDX-License-Identifier: BSD-3-Clause
// `sluice run`: the plan of a launch, and the program itself from the outside.
#include "command/run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace sluice::command {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char *kFixtures = SLUICE_TEST_FIXTURES;

std::string program(const std::string &name) {
  return std::string(kFixtures).append("/program.").append(name);
}

// A folder with libsluice_mpich.so and one module, which is a file name only.
std::string library_folder() {
  const fs::path modules = fs::path(kFixtures) / "lib/sluice";
  fs::create_directories(modules);
  std::ofstream(modules / "libsluice_backend_fake.so") << "a file name is all that is looked at\n";
  std::ofstream(modules / "libsluice_backend_fake.needs") << "priority 1\n";
  return (fs::path(kFixtures) / "lib").string();
}

RunRequest request_for(std::vector<std::string> command) {
  RunRequest request;
  request.command = std::move(command);
  request.library_folder = library_folder();
  return request;
}

std::string error_of(const RunRequest &request) {
  Launch launch;
  return plan_launch(request, &launch).message();
}

struct Ended {
  int exit_status = -1;
  std::string output;  // of both streams
};

// `sluice <words>` from a shell.
Ended sluice(const std::string &words) {
  Ended ended;
  FILE *stream = popen(fmt::format("{} {} 2>&1", SLUICE_TEST_PROGRAM, words).c_str(), "r");
  if (stream == nullptr) return ended;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), stream) != nullptr) ended.output += part.data();
  const int status = pclose(stream);
  ended.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

TEST(Plan_Preloads, TheFittingLibraryInFrontOfOthers) {
  RunRequest request = request_for({program("mpich")});
  ASSERT_EQ(setenv("LD_PRELOAD", "libprofiler.so", 1), 0);
  Launch launch;
  const Status status = plan_launch(request, &launch);
  unsetenv("LD_PRELOAD");
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_THAT(launch.environment["LD_PRELOAD"], EndsWith("/lib/libsluice_mpich.so:libprofiler.so"));
}

TEST(Plan_Extends, APreloadThatTheCommandSets) {
  RunRequest request = request_for({"env", "LD_PRELOAD=libidle.so", program("mpich")});
  Launch launch;
  const Status status = plan_launch(request, &launch);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_THAT(launch.command[1], StartsWith("LD_PRELOAD=/"));
  EXPECT_THAT(launch.command[1], EndsWith("/libsluice_mpich.so:libidle.so"));
}

TEST(Plan_Sets, WhatTheOptionsSay) {
  RunRequest request = request_for({program("mpich")});
  request.backends = "fake";
  request.wants_statistics = true;
  Launch launch;
  ASSERT_TRUE(plan_launch(request, &launch).is_ok());
  EXPECT_EQ(launch.environment["SLUICE_BACKENDS"], "fake");
  EXPECT_EQ(launch.environment["SLUICE_STATS"], "1");
}

TEST(Plan_Fails, ForAnUnknownBackend) {
  RunRequest request = request_for({program("mpich")});
  request.backends = "fake,nonesuch";
  EXPECT_THAT(error_of(request), HasSubstr("unknown backend \"nonesuch\""));
  EXPECT_THAT(error_of(request), EndsWith("holds fake"));
}

TEST(Plan_Fails, WithoutABackend) {
  RunRequest request = request_for({program("mpich")});
  request.library_folder = kFixtures;
  EXPECT_THAT(error_of(request), StartsWith("no backend in "));
}

TEST(Plan_Fails, WithoutTheFlavoursLibrary) {
  EXPECT_THAT(error_of(request_for({program("ompi")})), HasSubstr("libsluice_ompi.so is not in "));
}

TEST(Plan_Fails, WithoutACommand) {
  EXPECT_THAT(error_of(request_for({})), StartsWith("no command"));
}

TEST(Program_PassesOn, ExitStatusAndEnvironment) {
  const Ended ended = sluice(fmt::format("run --lib-dir {} -- {} LD_PRELOAD 7", library_folder(), program("mpich")));
  EXPECT_EQ(ended.exit_status, 7) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("/lib/libsluice_mpich.so"));
}

TEST(Program_Refuses, AProgramThatIsNotMpi) {
  const Ended ended = sluice(fmt::format("run --lib-dir {} -- {}", library_folder(), program("plain")));
  EXPECT_EQ(ended.exit_status, 2);
  EXPECT_THAT(ended.output, HasSubstr("is not linked to an MPI"));
}

TEST(Program_Refuses, AWrongOption) {
  EXPECT_EQ(sluice("run --mpi cray -- ./app").exit_status, 2);
  EXPECT_EQ(sluice("info --route many").exit_status, 2);
  EXPECT_EQ(sluice("info --route 8 --from nowhere").exit_status, 2);
  EXPECT_EQ(sluice("info --pack 0").exit_status, 2);
  EXPECT_EQ(sluice("info --pack 1K --run none").exit_status, 2);
  EXPECT_EQ(sluice("info --run 8").exit_status, 2);
  EXPECT_EQ(sluice("").exit_status, 2);
}

TEST(Program_Tells, VersionAndRoute) {
  EXPECT_EQ(sluice("--version").exit_status, 0);
  const Ended ended = sluice("info --json --route 64K --from host --to device");
  EXPECT_EQ(ended.exit_status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("\"size_bytes\": 65536"));
  EXPECT_THAT(ended.output, HasSubstr("host 65536 bytes -> host"));
}

TEST(Program_Tells, WhatBringsDataWithGapsTogether) {
  const Ended ended = sluice("info --pack 64K --run 512 --gap 1K");
  EXPECT_EQ(ended.exit_status, 0) << ended.output;
  for (const char *leg : {"staged", "staged as an image", "pulled", "on the device"}) {
    EXPECT_THAT(ended.output, HasSubstr(std::string("device 65536 bytes in 128 runs of 512, ") + leg + " -> "));
  }
  EXPECT_THAT(sluice("info --json --pack 100 --run 64").output, HasSubstr("in 2 runs of 36 to 64"));
}

TEST(Program_Tells, WhatCarriesMessagesOfQueues) {
  const Ended ended = sluice("info --queue");
  EXPECT_EQ(ended.exit_status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("queue engine auto, all ranks on one node -> thread"));
  EXPECT_THAT(ended.output, HasSubstr("queue engine auto, ranks on several nodes -> thread"));
}

}  // namespace
}  // namespace sluice::command
