// SPDX-License-Identifier: BSD-3-Clause
// Owns the shapes that the small-copy kernels (copy_kernels.cu) and the host share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::backends::cuda {

// Eight bytes of data travel with the sequence number of their copy in one 16-byte store, which reaches host memory
// whole: the number alone says that the data beside it is there.
struct alignas(16) Packet {
  std::uint64_t data;
  std::uint64_t sequence;
};

inline constexpr unsigned kMaxCopyThreads = 512;
inline constexpr std::size_t kPacketDataBytes = 8;
// The largest copy that the inlined form carries in its launch parameters (4096 bytes in all on older drivers).
inline constexpr std::size_t kMaxInlineBytes = 3968;

struct InlineData {
  std::uint64_t words[kMaxInlineBytes / 8];
};

// What a launch without fresh parameters reads from mapped host memory.
struct CopyOrder {
  const void *src;
  std::uint64_t size_bytes;
  std::uint64_t sequence;
  std::uint64_t unused;
};

}  // namespace sluice::backends::cuda
