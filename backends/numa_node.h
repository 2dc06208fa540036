// SPDX-License-Identifier: BSD-3-Clause
// The NUMA node that a device is at, as the kernel says it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace sluice::backends {

// Of the PCI device ("0000:1b:00.0", in lower case); -1 when it is not known, an empty address among those.
inline int32_t numa_node_of(const std::string &pci_address) {
  std::ifstream file("/sys/bus/pci/devices/" + pci_address + "/numa_node");
  int32_t node = -1;
  return !pci_address.empty() && file >> node && node >= 0 ? node : -1;
}

}  // namespace sluice::backends
