// SPDX-License-Identifier: BSD-3-Clause
// Host memory that the program stages in by hand.
#include "bench/memory/staging_place.hpp"

namespace sluice::bench {
namespace {

std::uint64_t stride_of(std::uint64_t size_bytes) {
  return (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

Buffer StagingPlace::allocate(std::uint64_t size_bytes, std::size_t n) const {
  const auto memory = staging == NaiveStaging::pinned ? SLUICE_STAGING_RUNTIME : SLUICE_STAGING_MALLOC;
  return Buffer::staging_memory(module, memory, stride_of(size_bytes) * n);
}

std::vector<void *> staging_pointers(const Buffer &memory, std::uint64_t size_bytes, std::size_t n) {
  std::vector<void *> pointers;
  pointers.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    pointers.push_back(memory.data() + i * stride_of(size_bytes));
  }
  return pointers;
}

}  // namespace sluice::bench
