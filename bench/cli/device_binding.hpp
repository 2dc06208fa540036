// SPDX-License-Identifier: BSD-3-Clause
// Which rank gets which device (--bind).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::bench {

enum class BindingRule {
  round_robin,  // the rank's number on its host, modulo the number of devices
  closest,      // the devices of the rank's own NUMA node, in turn; of all where none is or nothing is known
  list          // the one at the rank's place in a list
};

struct DeviceBinding {
  BindingRule rule = BindingRule::round_robin;
  std::vector<std::int32_t> list;  // for BindingRule::list: of the ranks of a host
};

// Reads "round-robin", "closest" or "list:0,2,1". Throws OptionError.
DeviceBinding parse_device_binding(const std::string &text);

// As the user writes it.
std::string describe(const DeviceBinding &binding);

// A rank of this host as it asks for a device. numa_node: -1 when it runs on several or that is unknown.
struct Seat {
  bool needs_device = false;
  int numa_node = -1;
};

struct DeviceChoice {
  std::vector<std::int32_t> devices;  // for each seat, also those that need none
  std::string error;                  // why there is no choice; ""
};

// Pure. seats: the ranks of one host in the order of their numbers there. device_numa_nodes: of each device, -1
// unknown; at least one. A list that is too short or names a device that is not there is an error.
DeviceChoice choose_devices(const DeviceBinding &binding, const std::vector<Seat> &seats,
                            const std::vector<int> &device_numa_nodes);

// The lowest device that several ranks would use, and by how many; {-1, 0} when each has its own.
struct SharedDevice {
  std::int32_t device = -1;
  int n_ranks = 0;
};
SharedDevice find_shared_device(const std::vector<Seat> &seats, const std::vector<std::int32_t> &devices);

}  // namespace sluice::bench
