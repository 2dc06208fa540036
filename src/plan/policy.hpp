// SPDX-License-Identifier: BSD-3-Clause
// policy_of(): the plan's Policy for a backend and device, from the knobs and the tuning tables.
#pragma once

#include <cstdint>

#include "device/backend.hpp"
#include "plan/plan.hpp"
#include "plan/reduction_means.hpp"

namespace sluice::plan {

// Resolves the knobs for memory of `device` of `backend` (null: host only). Warm: a few comparisons after the first
// call. Any thread.
[[nodiscard]] Policy policy_of(const device::Backend *backend, std::int32_t device);

// The limits of choose_reduction_means() for memory of `device` of `backend`. Warm, as policy_of(). Any thread.
[[nodiscard]] ReductionMeansLimits reduction_means_limits_of(const device::Backend &backend, std::int32_t device);

}  // namespace sluice::plan
