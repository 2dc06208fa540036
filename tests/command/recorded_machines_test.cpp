// SPDX-License-Identifier: BSD-3-Clause
// Placement on machines that were recorded, in hwloc's XML: all files of the folder that SLUICE_RECORDED_MACHINES
// names. None is kept here; hwloc's own sources have some (tests/hwloc/xml), and `lstopo --of xml FILE` records
// another. Which cores are right is asked of the file: those below which the device's PCI address stands there.
#include <gtest/gtest.h>
#include <hwloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "command/place/machine.hpp"
#include "command/place/seats.hpp"

namespace sluice::command::place::recorded_machines_test {
namespace {

constexpr unsigned kDisplay = 3;  // the PCI class of devices that draw or compute
constexpr unsigned kAccelerator = 0x12;

struct Expected {
  sluice_device_info_t device;
  ThreadSet threads;  // of the parent that has any
};

// The devices that a backend may have, as the file says where they are.
std::vector<Expected> expected_in(const std::string &path) {
  std::vector<Expected> found;
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  EXPECT_EQ(hwloc_topology_set_xml(topology, path.c_str()), 0);
  EXPECT_EQ(hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL), 0);
  if (hwloc_topology_load(topology) == 0) {
    for (hwloc_obj_t pci = hwloc_get_next_pcidev(topology, nullptr); pci != nullptr;
         pci = hwloc_get_next_pcidev(topology, pci)) {
      const auto &at = pci->attr->pcidev;
      const unsigned major = at.class_id >> 8;
      if (major != kDisplay && major != kAccelerator) continue;
      Expected one{};
      std::snprintf(one.device.pci_address, sizeof one.device.pci_address, "%04x:%02x:%02x.%01x",
                    static_cast<unsigned>(at.domain), static_cast<unsigned>(at.bus), static_cast<unsigned>(at.dev),
                    static_cast<unsigned>(at.func));
      one.device.numa_node = -1;
      hwloc_obj_t parent = pci->parent;
      while (parent->cpuset == nullptr) parent = parent->parent;
      // Below the whole machine is near to nothing where that has several nodes.
      if (parent->parent != nullptr || hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) <= 1) {
        hwloc_bitmap_and(one.threads.get(), parent->cpuset, hwloc_topology_get_allowed_cpuset(topology));
      }
      found.push_back(std::move(one));
    }
  } else {
    std::printf("%s: hwloc %x does not read it\n", path.c_str(), hwloc_get_api_version());
  }
  hwloc_topology_destroy(topology);
  return found;
}

void expect_seats(const Machine &machine, const std::vector<Nearness> &near, int n_ranks) {
  std::vector<Seat> seats;
  const SeatProblem problem = plan_seats(machine, near, {BindKind::kClosest, {}}, n_ranks, &seats);
  ASSERT_TRUE(problem.status.is_ok()) << problem.status.message();
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const ThreadSet &own = near[i % near.size()].threads;
    EXPECT_TRUE(hwloc_bitmap_isincluded(seats[i].threads.get(), own.get())) << "rank " << i;
    EXPECT_EQ(seats[i].threads.is_empty(), own.is_empty()) << "rank " << i;
    for (std::size_t j = 0; j < i; ++j) {
      const bool may_meet = seats[i].n_sharing > 1 && seats[j].n_sharing > 1;
      EXPECT_TRUE(may_meet || !hwloc_bitmap_intersects(seats[i].threads.get(), seats[j].threads.get()))
          << "ranks " << i << " and " << j << " have " << seats[i].threads.text() << " and " << seats[j].threads.text();
    }
  }
}

TEST(Recorded_Machines, HaveTheirRanksOnTheNearestCores) {
  const char *folder = std::getenv("SLUICE_RECORDED_MACHINES");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "missing: recorded machines; SLUICE_RECORDED_MACHINES names a folder of hwloc's XML files";
  }
  std::size_t n_devices = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".xml") continue;
    const std::vector<Expected> expected = expected_in(entry.path());
    if (expected.empty()) continue;
    SCOPED_TRACE(entry.path());
    setenv("HWLOC_XMLFILE", entry.path().c_str(), 1);
    Machine machine;
    const Status status = Machine::load(&machine);
    unsetenv("HWLOC_XMLFILE");
    ASSERT_TRUE(status.is_ok()) << status.message();
    EXPECT_FALSE(machine.is_this_one());
    std::vector<Nearness> near;
    for (const Expected &one : expected) {
      near.push_back(machine.near(one.device));
      EXPECT_EQ(near.back().threads.text(), one.threads.text()) << one.device.pci_address;
      std::printf("%s: %s near cores %s, cards by %s\n", entry.path().filename().c_str(), one.device.pci_address,
                  near.back().threads.text().c_str(), near.back().cards.shared.c_str());
    }
    n_devices += near.size();
    const int n = static_cast<int>(near.size());
    for (const int n_ranks : {1, n, 2 * n}) expect_seats(machine, near, n_ranks);
  }
  EXPECT_GT(n_devices, 0U) << "no file of " << folder << " has a device";
}

}  // namespace
}  // namespace sluice::command::place::recorded_machines_test
