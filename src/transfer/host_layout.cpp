// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/host_layout.hpp"

#include <algorithm>
#include <cstring>

namespace sluice::transfer {
namespace {

// Calls `copy(memory, position, bytes)` for each run of the first `size_bytes` of the payload.
template <typename Copy>
void for_each_run(const Region &region, std::uint64_t size_bytes, Copy copy) noexcept {
  const std::uint64_t all = std::min(size_bytes, region.size_bytes());
  if (all == 0) return;  // then addresses may be null
  if (region.layout->is_contiguous) {
    copy(region.origin, std::uint64_t{0}, all);
    return;
  }
  std::uint64_t done = 0;
  for (std::int64_t element = 0; element < region.count && done < all; ++element) {
    const std::int64_t origin = element * region.layout->extent_bytes;
    for (const Block &block : region.layout->blocks) {
      const std::uint64_t size = std::min(all - done, block.size_bytes);
      if (size == 0) return;
      copy(at(region.origin, origin + block.offset_bytes), done, size);
      done += size;
    }
  }
}

}  // namespace

void gather(const Region &region, std::byte *packed, std::uint64_t size_bytes) noexcept {
  for_each_run(region, size_bytes, [packed](const std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    std::memcpy(packed + position, memory, bytes);
  });
}

void scatter(const Region &region, const std::byte *packed, std::uint64_t size_bytes) noexcept {
  for_each_run(region, size_bytes, [packed](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    std::memcpy(memory, packed + position, bytes);
  });
}

}  // namespace sluice::transfer
