// SPDX-License-Identifier: BSD-3-Clause
// A machine profile: how long copies take on a machine that is imitated. The file format is described in
// docs/backends/emu-profiles.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emurt.h"

namespace emurt {

// One way that data takes. The time of a copy is latency_us + size / bandwidth_gb_s.
struct LinkFigures {
  double latency_us = 0;
  double bandwidth_gb_s = 0;  // 10^9 bytes per second; 0: unlimited
};

// Where one of several devices hangs.
struct DevicePlace {
  std::string pci_address;
  int32_t numa_node = -1;
};

struct Profile {
  std::string name;
  std::string device_name;
  std::string pci_address;
  int32_t numa_node = -1;
  uint64_t memory_bytes = 0;        // 0: not given
  std::vector<DevicePlace> places;  // of the first devices, in their order, instead of the two above

  double enqueue_us = 0;     // of the calling thread, for each submission to a queue
  double batch_copy_us = 0;  // instead of the link's latency, for each copy of a batch after the first
  bool is_duplex = true;     // false: the two directions of a device's link take turns

  LinkFigures host_to_device_pinned;
  LinkFigures host_to_device_pageable;
  LinkFigures device_to_host_pinned;
  LinkFigures device_to_host_pageable;
  LinkFigures device_to_device;
  LinkFigures peer_to_peer;
};

// Reads a profile. name_or_path: a name in the folder emu_profiles beside this library, or a path with a slash.
// EMU_ERROR_CONFIGURATION says which file and which member is wrong. Blocks on the file system.
emu_result_t read_profile(const std::string &name_or_path, Profile *profile);

}  // namespace emurt
