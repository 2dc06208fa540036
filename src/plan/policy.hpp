// SPDX-License-Identifier: BSD-3-Clause
// policy_of(): the plan's Policy for a backend and device, from the knobs and the tuning tables.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/backend.hpp"
#include "device/place.hpp"
#include "plan/copy_means.hpp"
#include "plan/plan.hpp"
#include "plan/reduction_means.hpp"

namespace sluice::plan {

// Resolves the knobs for memory of `device` of `backend` (null: host only). Hot: three questions to the backend, and
// what it says is compared with what it has said before. Any thread; what is returned stays as it is, for good.
[[nodiscard]] const Policy &policy_of(const device::Backend *backend, std::int32_t device);

// The limits of choose_reduction_means() for memory of `device` of `backend`. Hot, as policy_of(). Any thread.
[[nodiscard]] ReductionMeansLimits reduction_means_limits_of(const device::Backend &backend, std::int32_t device);

// choose_copy_means() for copies into memory of `place`, device memory or what its device reaches, of which a kernel is
// to make as many as `kernel_bytes`. Where it would, the device is asked for that kernel, and may make it ready, which
// blocks (device/kernel_copies.hpp). Says the choice in the log, of `whose` copies. Hot but for that. Any thread.
[[nodiscard]] CopyMeans choose_copy_means_on(const device::Place &place, const CopyListQuery &query,
                                             std::uint64_t kernel_bytes, std::string_view whose);

}  // namespace sluice::plan
