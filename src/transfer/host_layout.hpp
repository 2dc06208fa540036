// SPDX-License-Identifier: BSD-3-Clause
// Gather and scatter: between a region of host memory and its payload packed, in the order in which it travels.
// Any thread; no two write the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transfer/staged.hpp"

namespace sluice::transfer {

// Copies the first `size_bytes` of the payload of `region`, which the CPU may touch, to `packed`. Blocks.
void gather(const Region &region, std::byte *packed, std::uint64_t size_bytes) noexcept;
// The other way; touches no other byte of the region.
void scatter(const Region &region, const std::byte *packed, std::uint64_t size_bytes) noexcept;

}  // namespace sluice::transfer
