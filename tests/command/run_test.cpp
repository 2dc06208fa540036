// SPDX-License-Identifier: BSD-3-Clause
// `sluice run`: the plan of a launch, and the program itself from the outside.
#include "command/run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "command/preload_reach.hpp"

namespace sluice::command::run_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char *kFixtures = SLUICE_TEST_FIXTURES;

std::string program(const std::string &name) {
  return std::string(kFixtures).append("/program.").append(name);
}

// A folder with libsluice_mpich.so, and one module and the audit library, which are file names only.
std::string library_folder() {
  const fs::path modules = fs::path(kFixtures) / "lib/sluice";
  fs::create_directories(modules);
  std::ofstream(modules / "libsluice_backend_fake.so") << "a file name is all that is looked at\n";
  std::ofstream(modules / "libsluice_backend_fake.needs") << "priority 1\n";
  std::ofstream(modules / "libsluice_lookup.so") << "likewise\n";
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

Ended shell(const std::string &line) {
  Ended ended;
  FILE *stream = popen(fmt::format("({}) 2>&1", line).c_str(), "r");
  if (stream == nullptr) return ended;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), stream) != nullptr) ended.output += part.data();
  const int status = pclose(stream);
  ended.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

// `sluice <words>` from a shell, by `through`.
Ended sluice(const std::string &words, const std::string &through = "") {
  return shell(fmt::format("{} {} {}", through, SLUICE_TEST_PROGRAM, words));
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

// LD_AUDIT for the command's ranks; "" when they are to have none.
std::string audit_of(std::vector<std::string> command) {
  RunRequest request = request_for(std::move(command));
  request.mpi = "mpich";
  Launch launch;
  const Status status = plan_launch(request, &launch);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return launch.environment["LD_AUDIT"];
}

TEST(Plan_Audits, ProgramsThatLookFunctionsUp) {
  EXPECT_THAT(audit_of({program("plain")}), EndsWith("/lib/sluice/libsluice_lookup.so"));
  EXPECT_THAT(audit_of({"env", program("plain")}), EndsWith("/lib/sluice/libsluice_lookup.so"));
  EXPECT_EQ(audit_of({program("mpich")}), "");
  EXPECT_EQ(audit_of({"env", program("mpich")}), "");
  EXPECT_EQ(audit_of({"sh", "-c", "a program that is not seen"}), "");
}

TEST(Plan_Audits, BesideOtherAuditLibraries) {
  ASSERT_EQ(setenv("LD_AUDIT", "libother.so", 1), 0);
  const std::string audit = audit_of({program("plain")});
  unsetenv("LD_AUDIT");
  EXPECT_THAT(audit, EndsWith("/libsluice_lookup.so:libother.so"));
}

TEST(Plan_Extends, APreloadBehindTheRuntimesOfSanitizers) {
  RunRequest request = request_for({"env", "LD_PRELOAD=/lib/libasan.so.8 libubsan.so.1:libidle.so", program("mpich"),
                                    ":", "env", "LD_PRELOAD=libtsan.so.2", program("mpich")});
  ASSERT_EQ(setenv("LD_PRELOAD", "/opt/libclang_rt.asan-x86_64.so:libprofiler.so", 1), 0);
  Launch launch;
  const Status status = plan_launch(request, &launch);
  unsetenv("LD_PRELOAD");
  ASSERT_TRUE(status.is_ok()) << status.message();
  const std::string library = fs::path(kFixtures) / "lib/libsluice_mpich.so";
  EXPECT_EQ(launch.environment["LD_PRELOAD"], "/opt/libclang_rt.asan-x86_64.so:" + library + ":libprofiler.so");
  EXPECT_EQ(launch.command[1], "LD_PRELOAD=/lib/libasan.so.8 libubsan.so.1:" + library + ":libidle.so");
  EXPECT_EQ(launch.command[5], "LD_PRELOAD=libtsan.so.2:" + library);
}

TEST(Plan_Preloads, NothingTwice) {
  const std::string library = fs::path(kFixtures) / "lib/libsluice_mpich.so";
  for (const std::string &existing : {library, library + ":libidle.so", "libasan.so.8:" + library}) {
    RunRequest request = request_for({"env", "LD_PRELOAD=" + existing, program("mpich")});
    Launch launch;
    const Status status = plan_launch(request, &launch);
    ASSERT_TRUE(status.is_ok()) << status.message();
    EXPECT_EQ(launch.command[1], "LD_PRELOAD=" + existing);
  }
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

// A copy of a program, for its mode and attributes to be changed.
class ProgramFile {
 public:
  explicit ProgramFile(const std::string &name) {
    fs::copy_file(program(name), path_, fs::copy_options::overwrite_existing);
  }
  ~ProgramFile() { fs::remove(path_); }
  ProgramFile(const ProgramFile &) = delete;
  ProgramFile &operator=(const ProgramFile &) = delete;
  ProgramFile(ProgramFile &&) = delete;
  ProgramFile &operator=(ProgramFile &&) = delete;
  [[nodiscard]] const std::string &path() const { return path_; }

 private:
  const std::string path_ = fmt::format("{}/changed-{}", kFixtures, getpid());
};

TEST(PreloadReach, EndsAtSetUserIdAndSetGroupId) {
  const ProgramFile file("mpich");
  const User owner;
  const User another{owner.user + 1, owner.group + 1};
  for (const auto &[mode, why] : {std::pair(04755, "is set-user-ID"), std::pair(02755, "is set-group-ID")}) {
    ASSERT_EQ(chmod(file.path().c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_EQ(why_preload_is_dropped(file.path(), another), why);
    EXPECT_EQ(why_preload_is_dropped(file.path(), owner), "") << "nobody becomes another";
  }
  ASSERT_EQ(chmod(file.path().c_str(), 0755), 0);
  EXPECT_EQ(why_preload_is_dropped(file.path(), another), "");
}

TEST(PreloadReach, EndsAtFileCapabilities) {
  const ProgramFile file("mpich");
  // cap_net_raw, as the kernel keeps it: revision 2, permitted and effective.
  constexpr std::array<std::uint32_t, 5> kCapability = {0x02000001, 1U << 13U, 0, 0, 0};
  if (setxattr(file.path().c_str(), "security.capability", kCapability.data(), sizeof kCapability, 0) != 0) {
    GTEST_SKIP() << "file capabilities cannot be set here";
  }
  EXPECT_EQ(why_preload_is_dropped(file.path(), {1, 1}), "has file capabilities");
  EXPECT_EQ(why_preload_is_dropped(file.path(), {0, 0}), "") << "root has them all";
}

TEST(Plan_Fails, ForAProgramThatNothingIsPreloadedInto) {
  const ProgramFile file("mpich");
  // An ELF file without a loader: its head alone.
  std::array<char, 64> head{};
  std::ifstream(file.path(), std::ios::binary).read(head.data(), head.size());
  std::fill(head.begin() + 56, head.begin() + 58, '\0');  // no program headers
  std::ofstream(file.path(), std::ios::binary).write(head.data(), head.size());
  EXPECT_THAT(error_of(request_for({file.path()})), HasSubstr("is statically linked"));
  RunRequest request = request_for({file.path()});
  request.mpi = "mpich";
  Launch launch;
  ASSERT_TRUE(plan_launch(request, &launch).is_ok()) << "it may start an MPI program";
  EXPECT_THAT(launch.warnings, ElementsAre(HasSubstr("is statically linked")));
}

TEST(Plan_Fails, ForASetUserIdProgram) {
  const ProgramFile file("mpich");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(file.path().c_str(), 1, 1), 0);
  ASSERT_EQ(chmod(file.path().c_str(), 04755), 0);
  EXPECT_THAT(error_of(request_for({file.path()})), HasSubstr("is set-user-ID"));
}

TEST(Plan_Warns, OfWrappersThatTakeThePreloadAway) {
  const auto n_warnings = [](std::vector<std::string> command) {
    Launch launch;
    command.push_back(program("mpich"));
    const Status status = plan_launch(request_for(std::move(command)), &launch);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return launch.warnings.size();
  };
  EXPECT_EQ(n_warnings({"env", "-u", "LD_PRELOAD"}), 1U);
  EXPECT_EQ(n_warnings({"env", "-i"}), 1U);
  EXPECT_EQ(n_warnings({"env", "--unset=LD_PRELOAD", "A=1"}), 1U);
  EXPECT_EQ(n_warnings({"env", "A=1"}), 0U);
  EXPECT_EQ(n_warnings({"env", "-u", "A"}), 0U);
  EXPECT_EQ(n_warnings({"env", "-i", "LD_PRELOAD=libidle.so"}), 0U) << "it gets ours, too";
  const ProgramFile wrapper("plain");
  if (geteuid() != 0) return;  // only root can give a file away
  ASSERT_EQ(chown(wrapper.path().c_str(), 1, 1), 0);
  ASSERT_EQ(chmod(wrapper.path().c_str(), 04755), 0);
  EXPECT_EQ(n_warnings({wrapper.path()}), 1U);
}

TEST(Program_PassesOn, ExitStatusAndEnvironment) {
  const Ended ended = sluice(fmt::format("run --lib-dir {} -- {} LD_PRELOAD 7", library_folder(), program("mpich")));
  EXPECT_EQ(ended.exit_status, 7) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("/lib/libsluice_mpich.so"));
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

TEST(Program_PassesOn, WhatAProgramUnderASanitizerPrints) {
  if (kIsSanitized) GTEST_SKIP() << "this build's own sanitizer is in every program of it";
  for (const char *command : {"", "env LD_PRELOAD=libm.so.6 "}) {
    const Ended ended =
        sluice(fmt::format("run --lib-dir {} -- {}{} LD_PRELOAD 7", library_folder(), command, program("asan")));
    EXPECT_EQ(ended.exit_status, 7) << ended.output;
    EXPECT_THAT(ended.output, StartsWith("libasan.so."));
    EXPECT_THAT(ended.output, HasSubstr("/lib/libsluice_mpich.so"));
  }
}

TEST(Program_Tells, ThatDescriptorsAreFew) {
  // One is left, for the folder of the backends.
  const Ended ended = sluice(fmt::format("info --lib-dir {}", library_folder()),
                             "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec");
  EXPECT_THAT(ended.output, HasSubstr("Too many open files; raise this process's limit of open files (ulimit -n)"));
  EXPECT_THAT(ended.output, Not(HasSubstr("reinstall")));
}

TEST(Program_Works, WithoutProc) {
  const char *hidden = "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /proc && exec \"$0\" \"$@\"'";
  if (shell(fmt::format("{} true", hidden)).exit_status != 0) {
    GTEST_SKIP() << "missing: the right to have mounts of one's own";
  }
  // The folder has no real backend: one vendor's runtime reads the process's memory map while it is loaded, and reads
  // for ever where the map is missing.
  const std::string words = fmt::format("info --json --lib-dir {}", library_folder());
  const Ended ended = sluice(words, hidden);
  EXPECT_EQ(ended.exit_status, 0) << ended.output;
  EXPECT_EQ(ended.output, sluice(words).output);
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
  const Ended of_shared = sluice("info --route 1M --from shared --to device");
  EXPECT_EQ(of_shared.exit_status, 0) << of_shared.output;
  EXPECT_THAT(of_shared.output, HasSubstr("to a rank of this node         shared 1048576 bytes -> relayed: "));
}

TEST(Program_Tells, RoutesOfOneSidedOperations) {
  const Ended ended = sluice("info --route 8 --operation put --nodes 2");
  EXPECT_EQ(ended.exit_status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("to a rank of another node: by messages"));
  EXPECT_THAT(ended.output, HasSubstr("to a rank of this node: directly"));
  EXPECT_THAT(ended.output, HasSubstr("into a window without any: by the host MPI"));
  EXPECT_EQ(sluice("info --route 8 --operation push").exit_status, 2);
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
}  // namespace sluice::command::run_test
