// SPDX-License-Identifier: BSD-3-Clause
#include "command/place/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace sluice::command::place {
namespace {

bool is_wanted(const std::string &backends, const std::string &name) {
  if (backends.empty() || backends == "auto") return true;
  std::istringstream words(backends);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == name) return true;
  }
  return false;
}

Status describe_devices(Devices *devices) {
  const device::Backend &backend = *devices->backend;
  for (std::int32_t i = 0; i < backend.table().device_count(); ++i) {
    sluice_device_info_t info{};
    Status status = backend.check(backend.table().device_info(i, &info), fmt::format("describe device {}", i));
    if (!status.is_ok()) return status;
    devices->infos.push_back(info);
  }
  if (devices->infos.empty())
    return Status::error(ErrorKind::kUnsupported, fmt::format("{}: no device", backend.name()));
  return {};
}

}  // namespace

Status open_devices(const Installation &installation, const std::string &backends, Devices *devices) {
  std::string said;
  for (const device::Module &module : installation.modules) {
    if (!is_wanted(backends, module.name)) continue;
    *devices = {};
    Status status;
    devices->backend = device::Backend::load(module.path, &status);
    devices->module = module.path;
    if (devices->backend != nullptr) status = describe_devices(devices);
    if (status.is_ok() && devices->backend != nullptr) return {};
    said += fmt::format("{}{}", said.empty() ? "" : "; ",
                        status.is_ok() ? module.name + " was not loaded" : status.message());
  }
  *devices = {};
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("no device here{}; run `sluice info` to see what there is",
                                   said.empty() ? ", and no backend that may be asked" : ": " + said));
}

}  // namespace sluice::command::place
