// SPDX-License-Identifier: BSD-3-Clause
#include "command/place/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/environment.hpp"

namespace sluice::command::place {
namespace {

std::vector<hwloc_obj_t> ancestors_of(hwloc_obj_t object) {
  std::vector<hwloc_obj_t> chain;
  for (; object != nullptr; object = object->parent) chain.push_back(object);
  return chain;
}

bool is_network(hwloc_obj_t object) {
  return object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK || object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

// The PCI device of an operating system's device; null for one that is of software only.
hwloc_obj_t pci_device_of(hwloc_obj_t object) {
  while (object != nullptr && object->type != HWLOC_OBJ_PCI_DEVICE) object = object->parent;
  return object;
}

// What two devices share, in a word.
std::string name_of_shared(hwloc_obj_t object) {
  switch (object->type) {
    case HWLOC_OBJ_PCI_DEVICE:
      return "PCI device";
    case HWLOC_OBJ_BRIDGE:
      return object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI ? "PCI switch" : "PCI root";
    case HWLOC_OBJ_PACKAGE:
      return "package";
    case HWLOC_OBJ_MACHINE:
      return "machine";
    default:
      return object->nodeset != nullptr && hwloc_bitmap_weight(object->nodeset) == 1
                 ? "NUMA node"
                 : hwloc_obj_type_string(object->type);
  }
}

// The first NUMA node of `nodes` by the kernel's number; memory without cores of its own has the higher numbers.
int first_node(hwloc_const_bitmap_t nodes) {
  return nodes != nullptr ? hwloc_bitmap_first(nodes) : -1;
}

}  // namespace

std::string ThreadSet::text() const {
  char *list = nullptr;
  if (hwloc_bitmap_list_asprintf(&list, bitmap_.get()) < 0 || list == nullptr) return "";
  std::string result = list;
  std::free(list);
  return result;
}

Status Machine::load(Machine *machine) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    return Status::error(ErrorKind::kOutOfMemory,
                         "hwloc does not start: no memory for a topology; lower the use of memory");
  }
  machine->topology_.reset(topology);
  // These plugins would start a runtime for devices and an X client, to find what the backends know already. It fails
  // for one that is not installed, which is as good.
  for (const char *plugin : {"opencl", "gl"}) {
    static_cast<void>(hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin));
  }
  if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
      hwloc_topology_load(topology) != 0) {
    const char *file = environment_variable("HWLOC_XMLFILE");
    return Status::error(ErrorKind::kUnsupported,
                         fmt::format("hwloc cannot read the machine{}: {}; run lstopo, which shows more",
                                     file != nullptr ? fmt::format(" in {}", file) : "", std::strerror(errno)));
  }
  return {};
}

int Machine::n_numa_nodes() const noexcept {
  return hwloc_get_nbobjs_by_type(topology_.get(), HWLOC_OBJ_NUMANODE);
}

Nearness Machine::near(const sluice_device_info_t &device) const {
  Nearness nearness;
  hwloc_obj_t pci = nullptr;
  if (device.pci_address[0] != '\0') pci = hwloc_get_pcidev_by_busidstring(topology_.get(), device.pci_address);
  hwloc_obj_t place = nullptr;
  if (pci != nullptr) {
    place = hwloc_get_non_io_ancestor_obj(topology_.get(), pci);
    nearness.found_by = "PCI address";
  }
  // A virtual machine shows its devices below all of its nodes, and may know the node all the same.
  const bool is_anywhere = place == nullptr || (place->type == HWLOC_OBJ_MACHINE && n_numa_nodes() > 1);
  if (is_anywhere && device.numa_node >= 0) {
    hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology_.get(), static_cast<unsigned>(device.numa_node));
    if (node != nullptr) {
      place = node;
      nearness.found_by = "NUMA node";
    }
  }
  if (place == nullptr || (place->type == HWLOC_OBJ_MACHINE && n_numa_nodes() > 1)) {
    nearness.found_by = device.pci_address[0] == '\0' && device.numa_node < 0
                            ? "the runtime tells neither its PCI address nor its NUMA node"
                            : "this machine does not show where its PCI address and NUMA node lie";
  } else {
    hwloc_bitmap_and(nearness.threads.get(), place->cpuset, hwloc_topology_get_allowed_cpuset(topology_.get()));
    nearness.numa_node =
        place->type == HWLOC_OBJ_NUMANODE ? static_cast<int>(place->os_index) : first_node(place->nodeset);
  }
  if (pci != nullptr || place != nullptr) nearness.cards = cards_near(pci, place);
  return nearness;
}

NearCards Machine::cards_near(hwloc_obj_t device, hwloc_obj_t place) const {
  const std::vector<hwloc_obj_t> chain = ancestors_of(device != nullptr ? device : place);
  NearCards nearest;
  std::size_t nearest_step = std::numeric_limits<std::size_t>::max();
  for (hwloc_obj_t card = nullptr; (card = hwloc_get_next_osdev(topology_.get(), card)) != nullptr;) {
    hwloc_obj_t pci = is_network(card) ? pci_device_of(card) : nullptr;
    if (pci == nullptr) continue;
    hwloc_obj_t shared = pci;
    auto found = chain.end();
    while (shared != nullptr && (found = std::find(chain.begin(), chain.end(), shared)) == chain.end()) {
      shared = shared->parent;
    }
    if (shared == nullptr) continue;
    const auto step = static_cast<std::size_t>(found - chain.begin());
    if (step > nearest_step) continue;
    if (step < nearest_step) nearest = {{}, name_of_shared(shared)};
    nearest_step = step;
    nearest.names.emplace_back(card->name);
  }
  std::sort(nearest.names.begin(), nearest.names.end());
  return nearest;
}

ThreadSet Machine::share_of(const ThreadSet &threads, int share, int n_shares) const {
  std::vector<hwloc_obj_t> cores;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology_.get(), HWLOC_OBJ_CORE, core)) != nullptr;) {
    if (hwloc_bitmap_intersects(core->cpuset, threads.get()) != 0) cores.push_back(core);
  }
  const auto n_cores = static_cast<std::int64_t>(cores.size());
  if (n_shares <= 1 || n_cores < n_shares) return threads.clone();
  ThreadSet part;
  for (std::int64_t i = share * n_cores / n_shares; i < (share + 1) * n_cores / n_shares; ++i) {
    hwloc_bitmap_or(part.get(), part.get(), cores[static_cast<std::size_t>(i)]->cpuset);
  }
  hwloc_bitmap_and(part.get(), part.get(), threads.get());
  return part;
}

ThreadSet Machine::bound_to() const {
  ThreadSet threads;
  if (hwloc_get_cpubind(topology_.get(), threads.get(), HWLOC_CPUBIND_PROCESS) != 0) return {};
  return threads;
}

Status Machine::bind(const ThreadSet &threads) const {
  if (hwloc_set_cpubind(topology_.get(), threads.get(), HWLOC_CPUBIND_PROCESS) == 0) return {};
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("the system refuses cores {}: {}; see which cores the job is given (taskset -p $$)",
                                   threads.text(), std::strerror(errno)));
}

}  // namespace sluice::command::place
