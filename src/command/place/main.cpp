// SPDX-License-Identifier: BSD-3-Clause
// The program `place`, a part of `sluice` that is a program of its own: it alone needs hwloc, and it runs in each rank.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>

#include "base/environment.hpp"
#include "command/bind_rule.hpp"
#include "command/installation.hpp"
#include "command/place/devices.hpp"
#include "command/place/links.hpp"
#include "command/place/report.hpp"
#include "command/place/start.hpp"

namespace sluice::command::place {
namespace {

constexpr int kWrongUse = 2;

struct Words {
  std::string library_folder;
  std::string backends;
  std::string bind = "closest";
  int n_ranks = 0;
  std::int32_t device = 0;
  bool wants_json = false;
  bool wants_links = false;
};

int refuse(const std::string &text) {
  fmt::print(stderr, "sluice info: {}\n", text);
  return kWrongUse;
}

// The arguments that make this program hold memory; the device's number follows.
std::vector<std::string> words_to_hold(const Words &words) {
  return {"place",     "hold",
          "--lib-dir", words.library_folder,
          "--backend", words.backends.empty() ? "auto" : words.backends};
}

int show(const Words &words) {
  BindRule rule;
  Status status = parse_bind_rule(words.bind, &rule);
  if (status.is_ok() && rule.kind == BindKind::kNone) {
    status = Status::error(ErrorKind::kInvalidArgument, "--bind none binds nothing: name closest or a list");
  }
  if (!status.is_ok()) return refuse(status.message());
  Devices devices;
  Machine machine;
  status = open_devices(find_installation(words.library_folder), words.backends, &devices);
  if (status.is_ok()) status = Machine::load(&machine);
  if (!status.is_ok()) return refuse(status.message());

  Report report;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) report.host = host.data();
  report.n_numa_nodes = machine.n_numa_nodes();
  report.is_this_machine = machine.is_this_one();
  report.backend = devices.backend->name();
  report.devices = devices.infos;
  for (const sluice_device_info_t &info : devices.infos) report.nearness.push_back(machine.near(info));
  report.rule = words.bind;
  report.self = find_local_rank(environment_variable);
  report.bound_to = machine.bound_to();
  int n_ranks = words.n_ranks > 0 ? words.n_ranks : static_cast<int>(devices.infos.size());
  if (rule.kind == BindKind::kList && words.n_ranks <= 0) n_ranks = static_cast<int>(rule.devices.size());
  if (report.self) n_ranks = std::max(report.self->n_ranks, report.self->rank + 1);
  const SeatProblem problem = plan_seats(machine, report.nearness, rule, n_ranks, &report.seats);
  if (!problem.status.is_ok()) return refuse(problem.status.message());
  report.has_links = words.wants_links;
  if (words.wants_links) report.links = measure_links(devices, words_to_hold(words));
  const std::string text = words.wants_json ? to_json(report) : to_text(report);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

int hold(const Words &words) {
  Devices devices;
  const Status status = open_devices(find_installation(words.library_folder), words.backends, &devices);
  if (!status.is_ok()) {
    fmt::print("{}\n", status.message());
    return 1;
  }
  return hold_memory(devices, words.device);
}

int dispatch(int argc, char **argv, std::vector<std::string> command) {
  CLI::App app{
      "Where ranks, devices, cores and network cards lie; started by `sluice run --bind` and `sluice info "
      "--topology`."};
  app.require_subcommand(1);
  Words words;
  app.fallthrough();
  app.add_option("--lib-dir", words.library_folder, "folder of the Sluice libraries")->required();
  app.add_option("--backend", words.backends, "backends whose devices are meant: auto or names: a,b");
  app.add_option("--bind", words.bind, "closest, none or list:0,1,...");
  const CLI::App *run_app = app.add_subcommand("run", "binds this process and becomes what stands behind --");
  CLI::App *show_app = app.add_subcommand("show", "says what lies near each device");
  show_app->add_option("--ranks", words.n_ranks, "ranks on this node")->check(CLI::PositiveNumber);
  show_app->add_flag("--json", words.wants_json, "print JSON");
  show_app->add_flag("--measure", words.wants_links, "measure what the devices reach of each other");
  CLI::App *hold_app = app.add_subcommand("hold", "holds device memory for --measure");
  hold_app->add_option("device", words.device)->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : kWrongUse;
  }
  if (run_app->parsed()) {
    return start_bound(find_installation(words.library_folder), words.backends, words.bind, std::move(command));
  }
  return show_app->parsed() ? show(words) : hold(words);
}

}  // namespace
}  // namespace sluice::command::place

int main(int argc, char **argv) {
  try {
    char **end = argv + argc;
    char **separator = std::find_if(argv, end, [](const char *word) { return std::string_view(word) == "--"; });
    std::vector<std::string> command;
    if (separator != end) command.assign(separator + 1, end);
    return sluice::command::place::dispatch(static_cast<int>(separator - argv), argv, std::move(command));
  } catch (const std::exception &error) {
    fmt::print(stderr, "sluice: {}\n", error.what());
    return 1;
  }
}
