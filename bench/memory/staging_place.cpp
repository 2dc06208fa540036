// SPDX-License-Identifier: BSD-3-Clause
// Memory that the program moves a message through by hand.
#include "bench/memory/staging_place.hpp"

#include <algorithm>

namespace sluice::bench {
namespace {

std::uint64_t stride_of(std::uint64_t size_bytes) {
  return (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

Buffer StagingPlace::allocate(std::uint64_t size_bytes, std::size_t n) const {
  if (packer != nullptr) {
    return Buffer::program_memory(module, kind, std::max<std::uint64_t>(stride_of(size_bytes) * n, 1));
  }
  const auto memory = staging == NaiveStaging::pinned ? SLUICE_STAGING_RUNTIME : SLUICE_STAGING_MALLOC;
  return Buffer::staging_memory(module, memory, stride_of(size_bytes) * n);
}

void StagingPlace::stage_down(void *staged, void *message, std::uint64_t size_bytes) const {
  if (packer != nullptr) {
    packer->pack(static_cast<std::byte *>(staged), static_cast<std::byte *>(message));
  } else {
    module->copy(staged, message, size_bytes);
  }
}

void StagingPlace::stage_up(void *message, void *staged, std::uint64_t size_bytes) const {
  if (packer != nullptr) {
    packer->unpack(static_cast<std::byte *>(message), static_cast<std::byte *>(staged));
  } else {
    module->copy(message, staged, size_bytes);
  }
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
