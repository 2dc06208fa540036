// SPDX-License-Identifier: BSD-3-Clause
// Machine: which cores, memory and network cards of this node lie near a device. By hwloc.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sluice/backend.h"

namespace sluice::command::place {

// A set of hardware threads, as the kernel numbers them. Movable; copies are made by clone(). One thread at a time.
class ThreadSet {
 public:
  ThreadSet() : bitmap_(hwloc_bitmap_alloc()) {}
  explicit ThreadSet(hwloc_const_bitmap_t bitmap) : bitmap_(hwloc_bitmap_dup(bitmap)) {}

  [[nodiscard]] hwloc_bitmap_t get() const noexcept { return bitmap_.get(); }
  [[nodiscard]] ThreadSet clone() const { return ThreadSet(bitmap_.get()); }
  [[nodiscard]] bool is_empty() const noexcept { return hwloc_bitmap_iszero(bitmap_.get()) != 0; }
  // "0-3,8"; "" when there is none
  [[nodiscard]] std::string text() const;
  bool operator==(const ThreadSet &other) const noexcept {
    return hwloc_bitmap_isequal(bitmap_.get(), other.bitmap_.get()) != 0;
  }

 private:
  struct Free {
    void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
  };
  std::unique_ptr<hwloc_bitmap_s, Free> bitmap_;
};

// The network cards that share the most with a device; cards that are equally near are all named.
struct NearCards {
  std::vector<std::string> names;  // as the operating system has them; empty: none known
  std::string shared;              // "PCI switch", "NUMA node", "package", "machine"
};

struct Nearness {
  ThreadSet threads;     // of all cores near the device that this process may use; empty when that is not known
  int numa_node = -1;    // as the kernel numbers it; -1 unknown
  std::string found_by;  // "PCI address" or "NUMA node"; else why nothing is known
  NearCards cards;
};

// Loaded by one thread. Nothing changes it then, and any thread may ask.
class Machine {
 public:
  // Reads this machine, or the one that HWLOC_XMLFILE or HWLOC_SYNTHETIC describes. Takes milliseconds. Errors:
  // kOutOfMemory; kUnsupported: hwloc cannot read it.
  static Status load(Machine *machine);

  // What lies near the device. By its PCI address; by its NUMA node where that address is not there.
  [[nodiscard]] Nearness near(const sluice_device_info_t &device) const;

  // The part of `threads` for the share-th of n_shares: whole cores, as many for each as can be, none twice. All of
  // `threads` where there are fewer cores than shares.
  [[nodiscard]] ThreadSet share_of(const ThreadSet &threads, int share, int n_shares) const;

  // False when it is a description of another machine, on which nothing can be bound.
  [[nodiscard]] bool is_this_one() const noexcept { return hwloc_topology_is_thissystem(topology_.get()) != 0; }
  [[nodiscard]] int n_numa_nodes() const noexcept;

  // Where this process may run now; empty when unknown.
  [[nodiscard]] ThreadSet bound_to() const;
  // Binds this process, and what it starts. Errors: kUnsupported, with the system's text.
  [[nodiscard]] Status bind(const ThreadSet &threads) const;

 private:
  struct Free {
    void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
  };
  [[nodiscard]] NearCards cards_near(hwloc_obj_t device, hwloc_obj_t place) const;

  std::unique_ptr<hwloc_topology, Free> topology_;
};

}  // namespace sluice::command::place
