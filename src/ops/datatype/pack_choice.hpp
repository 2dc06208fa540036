// SPDX-License-Identifier: BSD-3-Clause
// Asks the plan how the runs of a payload with gaps are moved (plan/packing.hpp). Any thread, for a region of its own.
#pragma once

#include <cstdint>

#include "plan/packing.hpp"
#include "transfer/region.hpp"

namespace sluice::ops {

// Fills in `pack` and `is_one_copy` of `region`, device memory whose layout has gaps, for the leg to staging memory and
// back. `n_runs`: as many runs as kernels may know of; 0: none packs it. Warm; says the choice in the log.
void choose_pack(plan::PackLeg leg, std::uint64_t n_runs, transfer::Region *region);

// Whether one kernel can move the payload of `region`, device memory whose layout has gaps. Hot.
[[nodiscard]] bool can_pack(const transfer::Region &region);

}  // namespace sluice::ops
