// SPDX-License-Identifier: BSD-3-Clause
// sluice-bench: a plain MPI program. Reads the command line, runs the tests, and turns every error into one line on
// stderr and an exit status: 0 done, 1 failed, 2 wrong command line.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/cli/options.hpp"
#include "bench/cli/osu_name.hpp"
#include "bench/cli/script.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/mpi/world.hpp"
#include "bench/report/report.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

void print_devices(const Options &options) {
  const std::string dir = options.module_dir.empty() ? default_module_dir() : options.module_dir;
  const std::vector<std::string> names = query_module_names(dir);
  if (names.empty()) {
    throw AgreedError(fmt::format("no device modules in {}", dir));
  }
  for (const std::string &name : names) {
    const std::string error = error_of([&] {
      DeviceModule module(dir, name);
      for (std::int32_t device = 0; device < module.n_devices(); ++device) {
        const sluice_device_info_t info = module.query_device(device);
        fmt::print("{} {}: {}; {}; PCI {}; NUMA node {}; {} MiB\n", name, device, info.name, info.runtime,
                   info.pci_address[0] != '\0' ? info.pci_address : "-", info.numa_node, info.memory_bytes >> 20);
      }
    });
    if (!error.empty()) {
      fmt::print("{}: {}\n", name, error);
    }
  }
}

std::string ranks_of(const TestInfo &test) {
  if (test.max_ranks == test.min_ranks) {
    return std::to_string(test.min_ranks);
  }
  return fmt::format("{}+{}", test.min_ranks, test.is_paired ? " even" : "");
}

void print_answer(const Options &options) {
  switch (options.action) {
    case Action::help:
      fmt::print("{}", options.help_text);
      break;
    case Action::version:
      fmt::print("sluice-bench {} {}\n", program_version(), program_commit());
      break;
    case Action::list_tests:
      for (const TestInfo &test : query_tests()) {
        fmt::print("{:<28} {:<8} {}\n", test.name, ranks_of(test), test.title);
      }
      break;
    default:
      print_devices(options);
      break;
  }
}

// Collective. Throws AgreedError when the test ended early; the report is complete then, too.
void measure(const World &world, const Options &options, const std::vector<std::string> &command) {
  Report report(options, world.is_root());
  std::string failure;
  // Says to tools below where a test begins, and which.
  check_mpi(MPI_Pcontrol(1, options.test->name.c_str()), "MPI_Pcontrol");
  try {
    Session session(options, world, report, command);
    options.test->run(session);
  } catch (const AgreedError &error) {
    failure = error.what();
  }
  const std::string write_error = report.finish(failure);
  world.agree(failure.empty() ? write_error : "");
  if (!failure.empty()) {
    throw AgreedError(failure);
  }
}

// What the arguments ask for, or why they cannot be understood. Known before MPI starts, because one test asks MPI for
// threads; said afterwards, because one rank alone speaks.
struct Request {
  std::vector<Options> runs;  // one for each test; a single one for a text; none when there is an error
  std::string error;

  bool needs_threads() const {
    return std::any_of(runs.begin(), runs.end(),
                       [](const Options &options) { return options.test != nullptr && options.test->needs_threads; });
  }
};

Request read_request(const std::vector<std::string> &command) {
  Request request;
  try {
    request.runs = parse_runs(arguments_of(command), query_tests());
    for (std::size_t i = 0; i < request.runs.size(); ++i) {
      request.runs[i].run_number = i + 1;
      request.runs[i].n_runs = request.runs.size();
    }
  } catch (const OptionError &error) {
    request.error = error.what();
  }
  return request;
}

// Ranks that measure different things would wait for each other for ever. Collective.
bool has_one_command_line(const World &world, const std::vector<std::string> &command) {
  std::string arguments;
  for (std::size_t i = 1; i < command.size(); ++i) {
    arguments += command[i] + '\n';
  }
  return world.is_same_everywhere(arguments);
}

// Collective. One test after the other; of several, those behind one that fails are run all the same. Throws
// AgreedError.
void measure_all(const World &world, const std::vector<Options> &runs, const std::vector<std::string> &command) {
  if (runs.size() == 1) {
    measure(world, runs.front(), command);
    return;
  }
  std::size_t n_failed = 0;
  for (const Options &options : runs) {
    try {
      measure(world, options, command);
    } catch (const AgreedError &error) {
      ++n_failed;
      if (world.is_root()) {
        fmt::print(stderr, "sluice-bench: {}: {}\n", options.test->name, error.what());
      }
    }
  }
  if (n_failed > 0) {
    throw AgreedError(fmt::format("{} of {} tests failed", n_failed, runs.size()));
  }
}

int run(const World &world, const Request &request, const std::vector<std::string> &command) {
  const auto complain = [&world](const std::string &text) {
    if (world.is_root()) {
      fmt::print(stderr, "sluice-bench: {}\n", text);
    }
  };
  if (!has_one_command_line(world, command)) {
    complain("the ranks were started with different arguments");
    return kFailed;
  }
  if (!request.error.empty()) {
    complain(request.error);
    return kWrongCommandLine;
  }
  try {
    if (request.runs.front().action == Action::measure) {
      measure_all(world, request.runs, command);
    } else if (world.is_root()) {
      print_answer(request.runs.front());
    }
    return 0;
  } catch (const AgreedError &error) {
    complain(error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char **argv) {
  try {
    const std::vector<std::string> command(argv, argv + argc);
    if (sluice::bench::is_script(command)) {
      fmt::print(stderr, "sluice-bench: {}\n", sluice::bench::run_script(command));
      return sluice::bench::kWrongCommandLine;
    }
    if (sluice::bench::asks_for_options(command)) {
      fmt::print("{}\n", sluice::bench::describe_options(sluice::bench::query_tests()));
      return 0;
    }
    const sluice::bench::Request request = sluice::bench::read_request(command);
    const sluice::bench::World world(&argc, &argv, request.needs_threads() ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    try {
      return sluice::bench::run(world, request, command);
    } catch (const std::exception &error) {
      // Only this rank knows, and others may be waiting for its message: nobody could end in order.
      fmt::print(stderr, "sluice-bench: rank {}: {}\n", world.rank(), error.what());
      return MPI_Abort(MPI_COMM_WORLD, sluice::bench::kFailed);
    }
  } catch (const std::exception &error) {
    fmt::print(stderr, "sluice-bench: {}\n", error.what());
    return sluice::bench::kFailed;
  }
}
