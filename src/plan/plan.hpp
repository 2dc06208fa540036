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
  bool is_outgoing = false;      // only sent from: nothing is received into this side
  std::uint64_t span_bytes = 0;  // from the payload's lowest byte to its highest; 0: too far apart to say
};

// Why a route was chosen; the sentence is in explain().
enum class Reason : std::uint8_t { kHostMemory, kNoBytes, kCpuMayTouch, kDeviceMemory, kSharedIsStaged };

// How the payload lies in staging memory.
enum class Form : std::uint8_t {
  kPlain,   // as in the program's buffer: one run
  kPacked,  // many pieces, one after the other
  kImage    // many pieces, each as far from the others as in the program's buffer
};

struct Plan {
  Route route = Route::kHost;
  Reason reason = Reason::kHostMemory;
  StagingMemory staging_memory = StagingMemory::kMalloc;  // of a staged route
  Form form = Form::kPlain;                               // of a staged route
};

// An image costs the gaps, and lets the host MPI send by the program's own datatype; from MPICH 4.0 a packed message of
// more than one chunk cannot be received into a type with gaps (MPI_ERR_TRUNCATE, without Sluice too). Only what is
// sent can be one: bringing an image up would overwrite the gaps.
[[nodiscard]] constexpr Form form_of(const Query &query) noexcept {
  if (query.is_contiguous) return Form::kPlain;
  const bool is_dense = query.span_bytes != 0 && query.span_bytes / 2 <= query.size_bytes;
  return query.is_outgoing && is_dense ? Form::kImage : Form::kPacked;
}

// The choice. Hot.
[[nodiscard]] constexpr Plan choose(const Query &query, const Policy &policy) noexcept {
  const Plan staged{Route::kStaged, Reason::kDeviceMemory, policy.staging_memory, form_of(query)};
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
