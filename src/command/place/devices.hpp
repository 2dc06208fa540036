// SPDX-License-Identifier: BSD-3-Clause
// The devices that the ranks of this node will see.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "command/installation.hpp"
#include "device/backend.hpp"

namespace sluice::command::place {

struct Devices {
  std::unique_ptr<device::Backend> backend;
  std::string module;  // file
  std::vector<sluice_device_info_t> infos;
};

// Opens the first backend that has a device, of those that `backends` names ("a,b"; "" and "auto": of all, by
// priority). Visibility is the runtime's business: a device that a variable of its hides is not there. Loads vendor
// runtimes; creates no context. Any thread. Errors: kUnsupported, with what each backend said, when none has a device.
Status open_devices(const Installation &installation, const std::string &backends, Devices *devices);

}  // namespace sluice::command::place
