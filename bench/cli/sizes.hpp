// SPDX-License-Identifier: BSD-3-Clause
// Message sizes as users write them: one number, a doubling range, a list.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::bench {

// Reads a number of bytes: digits, then nothing or K, M, G, T (powers of 1024). At most 2^62.
// Throws OptionError naming `option` and the text.
std::uint64_t parse_bytes(std::string_view option, std::string_view text);

// Reads OSU's "[MIN:]MAX" and returns the sizes of the sweep: MIN, doubled up to MAX; 0 is followed by 1.
// min_size: what MIN is when it is left out. Throws OptionError.
std::vector<std::uint64_t> parse_size_range(std::string_view option, std::string_view text, std::uint64_t min_size);

// Reads "8,64,1M" and returns the sizes in the order given. Throws OptionError.
std::vector<std::uint64_t> parse_size_list(std::string_view option, std::string_view text);

}  // namespace sluice::bench
