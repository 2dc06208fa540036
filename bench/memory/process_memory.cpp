// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process holds.
#include "bench/memory/process_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace sluice::bench {

std::uint64_t query_resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all_pages = 0;
  std::uint64_t resident_pages = 0;
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (!(file >> all_pages >> resident_pages) || page_bytes <= 0) {
    return 0;
  }
  return resident_pages * static_cast<std::uint64_t>(page_bytes);
}

std::uint64_t query_largest_cache_bytes() {
  for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long size_bytes = ::sysconf(level);
    if (size_bytes > 0) {
      return static_cast<std::uint64_t>(size_bytes);
    }
  }
  return 0;
}

std::uint64_t sets_beyond_caches(std::uint64_t set_bytes) {
  constexpr std::uint64_t kSmallestSpan = std::uint64_t{128} << 20;
  constexpr std::uint64_t kMostSets = 1024;
  const std::uint64_t span = std::max(2 * query_largest_cache_bytes(), kSmallestSpan);
  return std::clamp<std::uint64_t>(span / std::max<std::uint64_t>(set_bytes, 1), 2, kMostSets);
}

}  // namespace sluice::bench
