// SPDX-License-Identifier: BSD-3-Clause
// What Sluice counted in this process.
#pragma once

#include <string_view>

namespace sluice::tests {

// How many calls of `operation` this rank has made by `route`; -1 without statistics.
long long calls_by(std::string_view operation, std::string_view route);

}  // namespace sluice::tests
