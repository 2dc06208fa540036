// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process holds.
#pragma once

#include <cstdint>

namespace sluice::bench {

// Host memory of this process that is resident now, in bytes; 0 when the system does not say.
std::uint64_t query_resident_bytes();

// The data of the largest cache of this machine's processor, in bytes; 0 when the system does not say.
std::uint64_t query_largest_cache_bytes();

// --rotate auto: so many sets of buffers, each of set_bytes, that they hold together more than caches of processors and
// devices do. Small ones: as many as are reasonable, which the second cache may hold.
std::uint64_t sets_beyond_caches(std::uint64_t set_bytes);

}  // namespace sluice::bench
