// SPDX-License-Identifier: BSD-3-Clause
// How many blocks and work-items carry a message, in a stream (stream_message.cpp) and in a graph (stream_capture.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels.h"

namespace sluice::backends::cuda {

inline constexpr unsigned kWarp = 32;
// Up to here one block copies; above, one for each so many bytes, as far as that is a gain, and the last one that is
// done sets the word.
inline constexpr uint64_t kMostOfOneBlock = uint64_t{64} << 10U;
inline constexpr uint64_t kPartBytes = uint64_t{32} << 10U;
inline constexpr uint64_t kMostParts = 32;
// A block that waits keeps its place on the device from others, so there are few of them in one launch.
inline constexpr uint64_t kMostWaitingBlocks = 8;
inline constexpr uint64_t kMostWaitingBlocksOfLong = 16;

inline uint32_t message_parts(uint64_t size_bytes, uint64_t most_parts = kMostParts) {
  if (size_bytes <= kMostOfOneBlock) return 1;
  return static_cast<uint32_t>(std::min((size_bytes + kPartBytes - 1) / kPartBytes, most_parts));
}
// With several parts a work-item has as many words of each as it has under way at once.
inline unsigned message_threads(uint64_t size_bytes, uint32_t n_parts) {
  constexpr uint64_t kMostThreads = 1024;
  constexpr uint64_t kVectorBytes = 16;
  if (n_parts != 1) return kBlockThreads;
  const uint64_t n_vectors = size_bytes / kVectorBytes + 1;
  return static_cast<unsigned>(std::min<uint64_t>((n_vectors + kWarp - 1) / kWarp * kWarp, kMostThreads));
}

}  // namespace sluice::backends::cuda
