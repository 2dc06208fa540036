// SPDX-License-Identifier: BSD-3-Clause
// Plan: which route one side of an operation takes, and why. Pure: values in, a value out; no MPI, no GPU, no clock.
#pragma once

#include <cstdint>
#include <string>

#include "base/types.hpp"

namespace sluice::plan {

// What the choice depends on besides the message; read from the knobs and the backend once.
struct Policy {
  bool stages_shared = true;                              // SLUICE_DEVICE_SHARED
  StagingMemory staging_memory = StagingMemory::kMalloc;  // SLUICE_DEVICE_STAGING_MEMORY, `auto` resolved
};

// One side of an operation.
struct Query {
  MemoryKind kind = MemoryKind::kHost;
  std::uint64_t size_bytes = 0;  // of payload
  bool is_contiguous = true;     // the payload is one run of bytes
};

// Why a route was chosen; the sentence is in explain().
enum class Reason : std::uint8_t { kHostMemory, kNoBytes, kCpuMayTouch, kDeviceMemory, kSharedIsStaged };

struct Plan {
  Route route = Route::kHost;
  Reason reason = Reason::kHostMemory;
  StagingMemory staging_memory = StagingMemory::kMalloc;  // of a staged route
  bool packs = false;                                     // a staged route that gathers or scatters many pieces
};

// The choice. Hot.
[[nodiscard]] constexpr Plan choose(const Query &query, const Policy &policy) noexcept {
  const Plan staged{Route::kStaged, Reason::kDeviceMemory, policy.staging_memory, !query.is_contiguous};
  if (query.size_bytes == 0) return {Route::kHost, Reason::kNoBytes};
  switch (query.kind) {
    case MemoryKind::kHost:
      return {Route::kHost, Reason::kHostMemory};
    case MemoryKind::kPinned:
      return {Route::kHost, Reason::kCpuMayTouch};
    case MemoryKind::kShared: {
      if (!policy.stages_shared) return {Route::kHost, Reason::kCpuMayTouch};
      Plan plan = staged;
      plan.reason = Reason::kSharedIsStaged;
      return plan;
    }
    case MemoryKind::kDevice:
    case MemoryKind::kFreed:
      return staged;
  }
  return staged;
}

// One line for people: "device 4096 bytes -> staged through runtime memory: the CPU may not touch device memory".
[[nodiscard]] std::string explain(const Query &query, const Plan &plan);

}  // namespace sluice::plan
