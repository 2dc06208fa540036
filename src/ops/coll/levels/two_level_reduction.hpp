// SPDX-License-Identifier: BSD-3-Clause
// Reductions of several nodes in two levels (docs/adr/0030): inside each node the devices reduce, each rank a slice;
// each slice goes through staging memory and the host MPI to the same slices of the other nodes; and the ranks of a
// node put their slices together. Threads: any, one at a time on a communicator, as MPI has collective calls.
#pragma once

#include <cstdint>

#include "device/device_memory.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/levels/node_levels.hpp"
#include "plan/levels.hpp"

namespace sluice::ops::coll {

// What this rank can do of MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter or MPI_Reduce_scatter_block in two levels;
// `sides` are classified, and `classified` says how that went. Takes into *scratch the device memory that it needs, if
// it needs any. The first reduction of a pair blocks while its kernel is made ready.
[[nodiscard]] plan::LevelAbility reduction_level_ability(const Call &call, const Member &member, const NodeMap &map,
                                                         const Sides &sides, const Status &classified,
                                                         device::DeviceMemory *scratch);

// Carries `call`, a blocking one of those, out by kLanes or kLeaders; all ranks are in it, and `scratch` is what
// reduction_level_ability() took. Returns the first error code of a step; one is returned at this rank alone, or at
// those of its node or lane. Blocks, in turns.
[[nodiscard]] int reduce_in_levels(const Call &call, const Member &member, const NodeLevels &levels, plan::Levels form,
                                   const device::DeviceMemory &scratch);

// The ones that need memory of their own, for elements of `element_bytes`: the same.
[[nodiscard]] int reduce_to_root_in_levels(const Call &call, const Member &member, const NodeLevels &levels,
                                           plan::Levels form, std::uint64_t element_bytes, std::byte *scratch);
[[nodiscard]] int reduce_scatter_in_lanes(const Call &call, const Member &member, const NodeLevels &levels,
                                          std::uint64_t element_bytes, std::byte *scratch);

// Bytes of device memory that MPI_Reduce takes at most: longer slices go one part after the other.
inline constexpr std::uint64_t kReduceScratchBytes = std::uint64_t{64} << 20;
// Elements that this rank gets of MPI_Reduce_scatter and MPI_Reduce_scatter_block from its node for its lane.
[[nodiscard]] std::uint64_t count_in_lane(const Call &call, const Member &member, const NodeMap &map) noexcept;

}  // namespace sluice::ops::coll
