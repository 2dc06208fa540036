// SPDX-License-Identifier: BSD-3-Clause
// The frame of an application.
#include "apps/support/program.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace sluice::apps {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

// Launchers that are told to end all ranks may drop what they have not read of their output by then: waits until they
// have read a pipe's, a second at most.
void wait_until_read(int file) {
  struct stat status = {};
  if (::fstat(file, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  const StopWatch waited;
  for (int n_bytes = 0; ::ioctl(file, FIONREAD, &n_bytes) == 0 && n_bytes > 0 && waited.elapsed_us() < 1e6;) {
    std::this_thread::yield();
  }
}

// Collective.
int run_body(const World &world, const std::string &name, const DeviceOptions &device_options,
             const std::string &json_path, const std::vector<std::string> &command,
             const std::function<void(const World &, Device &, Report &)> &body) {
  std::string failure;
  try {
    Device device(world, device_options);
    Report report(world, device, name, command, json_path);
    try {
      body(world, device, report);
    } catch (const AgreedError &error) {
      failure = error.what();
    }
    report.finish(failure);
  } catch (const AgreedError &error) {
    failure = error.what();
  }
  if (!failure.empty() && world.is_root()) fmt::print(stderr, "{}: {}\n", name, failure);
  return failure.empty() ? 0 : kFailed;
}

}  // namespace

int run_program(int argc, char **argv, CLI::App &parser,
                const std::function<void(const World &, Device &, Report &)> &body) {
  DeviceOptions device;
  std::string json_path;
  parser.add_option("-d,--device", device.module, "the device's backend, as `sluice info` names it")->required();
  parser.add_flag("--oversubscribe", device.is_oversubscribed, "ranks may share a device");
  parser.add_flag("--force", device.is_forced, "tries an MPI that does not say that it takes device memory");
  parser.add_option("--module-path", device.module_dir, "where the backends lie");
  parser.add_option("--json", json_path, "a file for the figures");
  const std::string name = parser.get_name();
  std::string error;
  std::string help;
  try {
    parser.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    help = parser.help();
  } catch (const CLI::ParseError &wrong) {
    error = wrong.what();
  }
  try {
    const World world(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!error.empty() || !help.empty()) {
      if (world.is_root())
        fmt::print(error.empty() ? stdout : stderr, "{}\n", error.empty() ? help : name + ": " + error);
      return error.empty() ? 0 : kWrongCommandLine;
    }
    try {
      return run_body(world, name, device, json_path, {argv, argv + argc}, body);
    } catch (const std::exception &own) {
      // Only this rank knows, and others may be waiting for its message: nobody could end in order.
      fmt::print(stderr, "{}: rank {}: {}\n", name, world.rank(), own.what());
      wait_until_read(STDERR_FILENO);
      return MPI_Abort(MPI_COMM_WORLD, kFailed);
    }
  } catch (const std::exception &own) {
    fmt::print(stderr, "{}: {}\n", name, own.what());
    return kFailed;
  }
}

}  // namespace sluice::apps
