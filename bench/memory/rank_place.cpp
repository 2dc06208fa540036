// SPDX-License-Identifier: BSD-3-Clause
// Where on its machine this process runs, by hwloc.
#include "bench/memory/rank_place.hpp"

#include <hwloc.h>

#include <array>
#include <memory>
#include <type_traits>

namespace sluice::bench {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

RankPlace query_place(hwloc_topology_t topology) {
  RankPlace place;
  const Bitmap cores(hwloc_bitmap_alloc());
  const Bitmap nodes(hwloc_bitmap_alloc());
  if (!cores || !nodes || hwloc_get_cpubind(topology, cores.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    return place;
  }
  std::array<char, 256> text{};
  if (hwloc_bitmap_list_snprintf(text.data(), text.size(), cores.get()) > 0) {
    place.cores = text.data();
  }
  if (hwloc_cpuset_to_nodeset(topology, cores.get(), nodes.get()) == 0 && hwloc_bitmap_weight(nodes.get()) == 1) {
    place.numa_node = hwloc_bitmap_first(nodes.get());
  }
  return place;
}

}  // namespace

RankPlace query_rank_place() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    return {};
  }
  RankPlace place;
  if (hwloc_topology_load(topology) == 0) {
    place = query_place(topology);
  }
  hwloc_topology_destroy(topology);
  return place;
}

}  // namespace sluice::bench
