// SPDX-License-Identifier: BSD-3-Clause
// Bytes that tell where they belong: each depends on its position and on the iteration that wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace conformance {

// What memory holds where no pattern was written.
inline constexpr std::byte kPoison{0xA5};
// The byte at `position` of the pattern of `iteration`.
std::byte pattern_byte(size_t position, uint64_t iteration);
// The first size_bytes of the pattern of `iteration`.
std::vector<std::byte> pattern(size_t size_bytes, uint64_t iteration);
// "" when all bytes are those of the pattern from position 0 on; else how many are not, and the first of them.
std::string pattern_mismatch(std::span<const std::byte> bytes, uint64_t iteration);

}  // namespace conformance
