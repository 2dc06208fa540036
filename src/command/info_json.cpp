// SPDX-License-Identifier: BSD-3-Clause
// to_json(): `sluice info --json`, for scripts. Members are only ever added; another meaning raises "format".
#include <nlohmann/json.hpp>

#include "command/info.hpp"

namespace sluice::command {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 2;

ordered_json json_of(const BackendInfo &backend) {
  ordered_json devices = ordered_json::array();
  for (const sluice_device_info_t &device : backend.devices) {
    devices.push_back({{"name", device.name},
                       {"runtime", device.runtime},
                       {"pci_address", device.pci_address},
                       {"numa_node", device.numa_node},
                       {"memory_bytes", device.memory_bytes}});
  }
  return {{"name", backend.name},
          {"module", backend.module},
          {"is_usable", !backend.devices.empty()},
          {"problem", backend.problem},
          {"staging_memory", backend.staging_memory},
          {"tuning", backend.tuning},
          {"devices", devices}};
}

// `note`: what only knobs, or only settings, have.
ordered_json json_of(const KnobInfo &knob, const char *note, const ordered_json &value) {
  return {{"name", knob.name},   {"value", knob.value}, {"source", knob.source},
          {"range", knob.range}, {note, value},         {"doc", knob.doc}};
}

ordered_json json_of(const RouteAnswer &route) {
  return {{"size_bytes", route.question.size_bytes},
          {"from", name(route.question.from)},
          {"to", name(route.question.to)},
          {"backend", route.backend},
          {"send", route.send},
          {"receive", route.receive},
          {"send_in_node", route.send_in_node},
          {"send_unmapped", route.send_unmapped},
          {"send_far", route.send_far}};
}

}  // namespace

std::string to_json(const Info &info) {
  ordered_json root = {{"format", kFormat}, {"version", version()}};
  root["host_mpis"] = ordered_json::array();
  for (const HostMpi &mpi : info.host_mpis) {
    root["host_mpis"].push_back(
        {{"library", mpi.library.string()}, {"flavour", name(mpi.flavour)}, {"version", mpi.version}});
  }
  root["launchers"] = ordered_json::array();
  for (const FoundLauncher &launcher : info.launchers) {
    root["launchers"].push_back({{"path", launcher.path.string()}, {"version", launcher.version}});
  }
  root["libraries"] = ordered_json::object();
  for (const auto &[flavour, file] : info.installation.libraries) {
    root["libraries"][std::string(name(flavour))] = file.string();
  }
  root["module_folder"] = info.installation.module_folder;
  root["backends"] = ordered_json::array();
  for (const BackendInfo &backend : info.backends) root["backends"].push_back(json_of(backend));
  root["knobs"] = ordered_json::array();
  for (const KnobInfo &knob : info.knobs) root["knobs"].push_back(json_of(knob, "experimental", knob.experimental));
  root["settings"] = ordered_json::array();
  for (const KnobInfo &setting : info.settings) {
    root["settings"].push_back(json_of(setting, "is_tunable", setting.is_tunable));
  }
  root["tuning"] = ordered_json::array();
  for (const plan::TuningTable &table : info.tuning) {
    root["tuning"].push_back(
        {{"path", table.path}, {"backend", table.backend}, {"device", table.device}, {"settings", table.values}});
  }
  root["network"] = {
      {"provider", info.network.provider}, {"reason", info.network.reason}, {"problem", info.network.problem}};
  if (info.route) {
    root["route"] = json_of(*info.route);
  }
  if (info.ways) {
    const WaysQuestion &question = info.ways->question;
    root["ways"] = {{"operation", question.operation}, {"size_bytes", question.size_bytes},
                    {"ranks", question.n_ranks},       {"nodes", question.n_nodes},
                    {"backend", info.ways->backend},   {"sentences", info.ways->sentences}};
  }
  if (info.pack) {
    const PackAnswer &pack = *info.pack;
    root["pack"] = {{"size_bytes", pack.question.size_bytes},
                    {"run_bytes", pack.question.run_bytes},
                    {"gap_bytes", pack.question.gap_bytes},
                    {"backend", pack.backend},
                    {"legs", pack.sentences}};
  }
  if (info.queue) root["queue"] = {{"backend", info.queue->backend}, {"engine", info.queue->sentences}};
  root["problems"] = info.problems;
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::command
