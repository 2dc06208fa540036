// SPDX-License-Identifier: BSD-3-Clause
// to_text(): `sluice info` for people.
#include <fmt/format.h>

#include <iterator>

#include "command/info.hpp"

namespace sluice::command {
namespace {

using Out = std::back_insert_iterator<std::string>;

void print_host_mpis(Out out, const Info &info) {
  fmt::format_to(out, "\nHost MPIs\n");
  if (info.host_mpis.empty())
    fmt::format_to(out, "  none found: install one, or put its folder into LD_LIBRARY_PATH\n");
  for (const HostMpi &mpi : info.host_mpis) {
    fmt::format_to(out, "  {:<16} {}\n    {}\n", title(mpi.flavour).substr(4), mpi.library.string(),
                   mpi.version.empty() ? "does not tell its version" : mpi.version);
  }
  for (const FoundLauncher &launcher : info.launchers) {
    fmt::format_to(out, "  {:<16} {}\n", "launcher", launcher.path.string());
  }
}

void print_libraries(Out out, const Installation &installation) {
  fmt::format_to(out, "\nSluice libraries in {}\n", installation.library_folder.string());
  if (installation.libraries.empty()) fmt::format_to(out, "  none: build Sluice, or say where it is with --lib-dir\n");
  for (const auto &[flavour, file] : installation.libraries) {
    fmt::format_to(out, "  {:<24} for programs with {}\n", file.filename().string(), title(flavour));
  }
}

std::string memory_text(std::uint64_t bytes) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return bytes == 0 ? "memory unknown" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / kGiB);
}

void print_device(Out out, std::size_t index, const sluice_device_info_t &device) {
  fmt::format_to(out, "    device {}  {}\n", index, device.name);
  fmt::format_to(out, "              {}, {}, {}\n",
                 device.pci_address[0] != '\0' ? fmt::format("PCI {}", device.pci_address) : "no PCI address",
                 device.numa_node >= 0 ? fmt::format("NUMA node {}", device.numa_node) : "NUMA node unknown",
                 memory_text(device.memory_bytes));
  if (device.runtime[0] != '\0') fmt::format_to(out, "              {}\n", device.runtime);
}

void print_backends(Out out, const Info &info) {
  fmt::format_to(out, "\nBackends in {}\n", info.installation.module_folder);
  if (info.backends.empty()) fmt::format_to(out, "  none\n");
  for (const BackendInfo &backend : info.backends) {
    if (backend.devices.empty()) {
      fmt::format_to(out, "  {:<8} not usable: {}\n", backend.name,
                     backend.problem.empty() ? "it has no device" : backend.problem);
      continue;
    }
    fmt::format_to(out, "  {:<8} loaded, {} device{}, stages through {} memory\n", backend.name, backend.devices.size(),
                   backend.devices.size() == 1 ? "" : "s", backend.staging_memory);
    if (!backend.tuning.empty()) fmt::format_to(out, "    tuned by {}\n", backend.tuning);
    for (std::size_t i = 0; i < backend.devices.size(); ++i) print_device(out, i, backend.devices[i]);
    if (!backend.problem.empty()) fmt::format_to(out, "    {}\n", backend.problem);
  }
}

void print_network(const Out &out, const NetworkInfo &network) {
  fmt::format_to(out, "\nBetween nodes, a library for device memory (SLUICE_NETWORK)\n  {}: {}\n", network.provider,
                 network.reason);
  if (!network.problem.empty()) fmt::format_to(out, "  it does not start: {}\n", network.problem);
}

void print_tuning(Out out, const std::vector<plan::TuningTable> &tables) {
  if (tables.empty()) return;
  fmt::format_to(out, "\nTuning tables (values of settings that SLUICE_TUNING does not give)\n");
  for (const plan::TuningTable &table : tables) {
    fmt::format_to(out, "  {}\n    {}{}\n", table.path, table.backend,
                   table.device.empty() ? std::string() : ", devices with \"" + table.device + "\" in their name");
    for (const auto &[setting, value] : table.values) fmt::format_to(out, "    {:<30} {}\n", setting, value);
  }
}

void print_knob(Out out, const KnobInfo &knob, std::string_view note) {
  const std::string_view between = knob.range.empty() || note.empty() ? "" : "; ";
  fmt::format_to(out, "  {:<30} {:<10} {:<12} {}{}{}\n", knob.name, knob.value.empty() ? "(empty)" : knob.value,
                 "(" + knob.source + ")", knob.range, between, note);
}

void print_knobs(Out out, const Info &info) {
  fmt::format_to(out, "\nKnobs (environment variables; experimental: no device has run it)\n");
  for (const KnobInfo &knob : info.knobs) print_knob(out, knob, knob.experimental);
  fmt::format_to(out, "\nSettings (SLUICE_TUNING=name=value,...; by table: a tuning table may set it)\n");
  for (const KnobInfo &setting : info.settings) print_knob(out, setting, setting.is_tunable ? "by table" : "");
}

}  // namespace

std::string to_text(const Info &info) {
  std::string text;
  const Out out(text);
  fmt::format_to(out, "Sluice {}\n", version());
  print_host_mpis(out, info);
  print_libraries(out, info.installation);
  print_backends(out, info);
  print_network(out, info.network);
  print_tuning(out, info.tuning);
  print_knobs(out, info);
  if (info.route) {
    const RouteAnswer &route = *info.route;
    fmt::format_to(out,
                   "\nRoute of {} bytes from {} to {} memory{}\n  sender    {}\n  receiver  {}\n"
                   "  sender, to a rank of this node         {}\n"
                   "  the same, memory that none other maps  {}\n"
                   "  sender, to a rank of another node      {}\n",
                   route.question.size_bytes, name(route.question.from), name(route.question.to),
                   route.backend.empty() ? ", without a backend" : fmt::format(", backend {}", route.backend),
                   route.send, route.receive, route.send_in_node, route.send_unmapped, route.send_far);
  }
  if (info.ways) {
    const WaysQuestion &question = info.ways->question;
    fmt::format_to(
        out, "\nWays of {} of {} bytes, {} ranks, {} nodes{}\n", question.operation, question.size_bytes,
        question.n_ranks, question.n_nodes,
        info.ways->backend.empty() ? ", without a backend" : fmt::format(", backend {}", info.ways->backend));
    for (const std::string &sentence : info.ways->sentences) fmt::format_to(out, "  {}\n", sentence);
  }
  if (info.pack) {
    fmt::format_to(
        out, "\nData with gaps{}\n",
        info.pack->backend.empty() ? ", without a backend" : fmt::format(" (backend {})", info.pack->backend));
    for (const std::string &sentence : info.pack->sentences) fmt::format_to(out, "  {}\n", sentence);
  }
  if (info.queue) {
    fmt::format_to(out, "\nQueues ({})\n",
                   info.queue->backend.empty() ? "no loaded backend takes streams of programs"
                                               : fmt::format("backend {}", info.queue->backend));
    for (const std::string &sentence : info.queue->sentences) fmt::format_to(out, "  {}\n", sentence);
  }
  if (!info.problems.empty()) fmt::format_to(out, "\nProblems\n");
  for (const std::string &problem : info.problems) fmt::format_to(out, "  {}\n", problem);
  return text;
}

}  // namespace sluice::command
