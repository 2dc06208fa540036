// SPDX-License-Identifier: BSD-3-Clause
// Which way a partitioned message goes: directly, where the receiver copies each partition out of the sender's memory,
// or staged by the host MPI. Each side judges what it has; the receiver, who hears of both, decides for both. Pure.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace sluice::plan {

// What one side has.
struct PartitionedSide {
  MemoryKind kind = MemoryKind::kHost;
  bool is_contiguous = true;
  bool allows_ipc = false;       // SLUICE_P2P_IPC, and the backend has the group
  std::uint64_t size_bytes = 0;  // of all partitions
};

enum class PartitionedReason : std::uint8_t {
  kDirect,
  kNotDevice,
  kGaps,
  kNoBytes,
  kNoIpc,
  kPeerCannot,
  kOtherRuntime,
  kOtherLength
};

// What one side says for itself; kDirect: it can.
[[nodiscard]] constexpr PartitionedReason judge_side(const PartitionedSide &side) noexcept {
  if (side.kind != MemoryKind::kDevice) return PartitionedReason::kNotDevice;
  if (side.size_bytes == 0) return PartitionedReason::kNoBytes;
  if (!side.is_contiguous) return PartitionedReason::kGaps;
  return side.allows_ipc ? PartitionedReason::kDirect : PartitionedReason::kNoIpc;
}

// What the receiver decides. `sender_can`: what the sender said for itself. kOtherLength: an error of the program's,
// which is the host MPI's to judge.
[[nodiscard]] constexpr PartitionedReason decide_partitioned(const PartitionedSide &own, bool sender_can,
                                                             bool is_one_runtime, std::uint64_t sent_bytes) noexcept {
  if (const PartitionedReason reason = judge_side(own); reason != PartitionedReason::kDirect) return reason;
  if (!sender_can) return PartitionedReason::kPeerCannot;
  if (!is_one_runtime) return PartitionedReason::kOtherRuntime;
  return sent_bytes == own.size_bytes ? PartitionedReason::kDirect : PartitionedReason::kOtherLength;
}

// The reason as a sentence.
[[nodiscard]] constexpr const char *explain(PartitionedReason reason) noexcept {
  switch (reason) {
    case PartitionedReason::kDirect:
      return "directly: the receiver copies each partition out of the sender's memory";
    case PartitionedReason::kNotDevice:
      return "staged: the buffer is no device memory";
    case PartitionedReason::kGaps:
      return "staged: the datatype has gaps";
    case PartitionedReason::kNoBytes:
      return "staged: there are no bytes";
    case PartitionedReason::kNoIpc:
      return "staged: device memory is not shared between processes (SLUICE_P2P_IPC, or the backend cannot)";
    case PartitionedReason::kPeerCannot:
      return "staged: the sender's memory cannot be copied from";
    case PartitionedReason::kOtherRuntime:
      return "staged: the sender's memory is another runtime's";
    case PartitionedReason::kOtherLength:
      return "staged: the sides differ in length";
  }
  return "staged";
}

}  // namespace sluice::plan
