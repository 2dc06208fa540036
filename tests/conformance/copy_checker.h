// SPDX-License-Identifier: BSD-3-Clause
// The checker of copies: every byte of the destination, everything around it, and the source afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory.h"
#include "sluice/backend.h"

namespace conformance {

enum class CopyWay { kCopy, kEnqueue };

struct CopyCase {
  size_t size_bytes;
  size_t src_offset;  // from the start of the allocation, at least kGuardBytes
  size_t dst_offset;
  uint64_t iteration;  // of the pattern
};

// Poisoned bytes before and behind every destination.
inline constexpr size_t kGuardBytes = 256;

// Fills, copies through `backend` (the module's table, or one that a test has spoiled), reads back and compares.
// "" when all is right, else what is wrong. The memories hold the case's ranges and a guard on both sides.
std::string check_copy(const sluice_backend_t &backend, sluice_queue_t *queue, const Memory &src, const Memory &dst,
                       const CopyCase &copy_case, CopyWay way);

// "" when `memory` holds the pattern of `iteration` at [offset, offset + size_bytes) and poison everywhere else.
std::string check_memory(const Memory &memory, size_t offset, size_t size_bytes, uint64_t iteration);
// Fills all of it with poison. "" or what went wrong.
std::string poison(const Memory &memory);

}  // namespace conformance
