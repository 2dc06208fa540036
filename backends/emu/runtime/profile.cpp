// SPDX-License-Identifier: BSD-3-Clause
// Reads machine profiles.
#include "runtime/profile.h"

#include <dlfcn.h>

#include <cmath>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "runtime/error.h"

namespace emurt {
namespace {

using nlohmann::json;

constexpr int kSchema = 1;

// The folder of this library, with a slash at its end; "" when the loader does not say.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void *>(&read_profile), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

std::string profile_path(const std::string &name_or_path) {
  if (name_or_path.find('/') != std::string::npos) return name_or_path;
  return own_folder() + "emu_profiles/" + name_or_path + ".json";
}

// The members below throw std::runtime_error or json::exception; read_profile turns them into a result.

void allow_only(const json &object, std::initializer_list<std::string_view> names, const std::string &where) {
  if (!object.is_object()) throw std::runtime_error("\"" + where + "\" is no object");
  for (const auto &[name, value] : object.items()) {
    bool is_known = false;
    for (const std::string_view known : names) is_known = is_known || name == known;
    if (!is_known) throw std::runtime_error(fmt::format("unknown member \"{}\" in \"{}\"", name, where));
  }
}

double figure(const json &object, const char *name, const std::string &where) {
  const double value = object.value(name, 0.0);
  if (!std::isfinite(value) || value < 0) {
    throw std::runtime_error("\"" + where + "." + name + "\" must be a number of at least 0");
  }
  return value;
}

LinkFigures link_figures(const json &links, const char *link, const char *memory) {
  std::string where = std::string("links.") + link;
  const json *object = &links.at(link);
  if (memory != nullptr) {
    allow_only(*object, {"pinned", "pageable"}, where);
    object = &object->at(memory);
    where += std::string(".") + memory;
  }
  allow_only(*object, {"latency_us", "bandwidth_gb_s"}, where);
  return {figure(*object, "latency_us", where), figure(*object, "bandwidth_gb_s", where)};
}

Profile parse(const json &root) {
  allow_only(root,
             {"schema", "name", "description", "device", "enqueue_us", "batch_copy_us", "duplex", "links", "sources"},
             "profile");
  if (root.at("schema").get<int>() != kSchema) throw std::runtime_error("\"schema\" must be 1");
  Profile profile;
  profile.name = root.at("name").get<std::string>();
  if (root.contains("device")) {
    const json &device = root.at("device");
    allow_only(device, {"name", "pci_address", "numa_node", "memory_bytes", "places"}, "device");
    profile.device_name = device.value("name", "");
    profile.pci_address = device.value("pci_address", "");
    profile.numa_node = device.value("numa_node", int32_t{-1});
    profile.memory_bytes = device.value("memory_bytes", uint64_t{0});
    for (const json &place : device.value("places", json::array())) {
      allow_only(place, {"pci_address", "numa_node"}, "device.places");
      profile.places.push_back({place.value("pci_address", ""), place.value("numa_node", int32_t{-1})});
    }
  }
  profile.enqueue_us = figure(root, "enqueue_us", "profile");
  profile.batch_copy_us = figure(root, "batch_copy_us", "profile");
  profile.is_duplex = root.value("duplex", true);
  const json &links = root.at("links");
  allow_only(links, {"host_to_device", "device_to_host", "device_to_device", "peer_to_peer"}, "links");
  profile.host_to_device_pinned = link_figures(links, "host_to_device", "pinned");
  profile.host_to_device_pageable = link_figures(links, "host_to_device", "pageable");
  profile.device_to_host_pinned = link_figures(links, "device_to_host", "pinned");
  profile.device_to_host_pageable = link_figures(links, "device_to_host", "pageable");
  profile.device_to_device = link_figures(links, "device_to_device", nullptr);
  profile.peer_to_peer = link_figures(links, "peer_to_peer", nullptr);
  return profile;
}

}  // namespace

emu_result_t read_profile(const std::string &name_or_path, Profile *profile) {
  const std::string path = profile_path(name_or_path);
  std::ifstream file(path);
  if (!file) {
    return fail(EMU_ERROR_CONFIGURATION,
                "profile \"{}\": {} cannot be read; profile= of SLUICE_EMU_MACHINE takes the name of a file in that "
                "folder, or a path with a slash",
                name_or_path, path);
  }
  try {
    *profile = parse(json::parse(file));
  } catch (const std::exception &error) {
    return fail(EMU_ERROR_CONFIGURATION, "profile {}: {}; its format is described in docs/backends/emu-profiles.md",
                path, error.what());
  }
  return EMU_SUCCESS;
}

}  // namespace emurt
