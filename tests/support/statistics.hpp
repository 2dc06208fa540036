// SPDX-License-Identifier: BSD-3-Clause
// What Sluice counted in this process.
#pragma once

#include <string_view>

namespace sluice::tests {

// How many calls of `operation` this rank has made by `route`; -1 without statistics.
long long calls_by(std::string_view operation, std::string_view route);

// Switches counting on; false where there are no statistics.
bool count_statistics();

// How often a mechanism was refused here for `reason`; -1 without statistics.
long long fallbacks(std::string_view reason);

// How many bytes the pool of staging memory holds here; -1 without statistics.
long long staging_bytes();

// How many kernels of this rank have packed or unpacked data with gaps; -1 without statistics.
long long pack_launches();

}  // namespace sluice::tests
