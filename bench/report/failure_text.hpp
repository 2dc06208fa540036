// SPDX-License-Identifier: BSD-3-Clause
// The line that says where a run went wrong.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

// "size 8: what happened"; "" for "".
std::string text_with_size(std::uint64_t size_bytes, const std::string &error);
// "size 8, iteration 0, what happened (route)"; without a route: nothing in brackets; "" for "".
std::string text_with_iteration(std::uint64_t size_bytes, std::uint64_t iteration, const std::string &failure,
                                const char *route = nullptr);

}  // namespace sluice::bench
