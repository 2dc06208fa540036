// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/host_layout.hpp"

#include <cstring>

namespace sluice::transfer {
void gather(const Region &region, std::byte *packed, std::uint64_t size_bytes) noexcept {
  for_each_run(region, size_bytes, [packed](const std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    std::memcpy(packed + position, memory, bytes);
    return true;
  });
}

void scatter(const Region &region, const std::byte *packed, std::uint64_t size_bytes) noexcept {
  for_each_run(region, size_bytes, [packed](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    std::memcpy(memory, packed + position, bytes);
    return true;
  });
}

}  // namespace sluice::transfer
