// SPDX-License-Identifier: BSD-3-Clause
// How a rank comes at the memory of another in a window of Sluice's: directly, or by messages that the other carries
// out. Pure.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace sluice::plan {

// What is known of a target in a window of Sluice's.
struct OneSidedQuery {
  bool is_dynamic = false;   // memory comes and goes, and only the target knows which there is
  bool is_self = false;      // the target is the rank that asks
  bool is_near = false;      // on this node, with locks in shared memory
  bool is_exported = false;  // the target's memory has a handle for other processes
  bool has_runtime = false;  // that memory's runtime is loaded here
  bool is_refused = false;   // it could not be mapped here
};

enum class OneSidedReason : std::uint8_t {
  kSelf,
  kMapped,
  kDynamic,
  kOtherNode,
  kNotExported,
  kNoRuntime,
  kRefused,
  kHostWindow
};

[[nodiscard]] constexpr OneSidedReason choose_one_sided(const OneSidedQuery &query) noexcept {
  if (query.is_dynamic) return OneSidedReason::kDynamic;
  if (query.is_self) return OneSidedReason::kSelf;
  if (!query.is_near) return OneSidedReason::kOtherNode;
  if (!query.is_exported) return OneSidedReason::kNotExported;
  if (!query.has_runtime) return OneSidedReason::kNoRuntime;
  return query.is_refused ? OneSidedReason::kRefused : OneSidedReason::kMapped;
}

// kIpc: the rank that asks moves the data itself; kStaged: by messages, through memory of the host.
[[nodiscard]] constexpr Route route_of(OneSidedReason reason) noexcept {
  return reason == OneSidedReason::kSelf || reason == OneSidedReason::kMapped ? Route::kIpc : Route::kStaged;
}

// The reason as a sentence.
[[nodiscard]] constexpr const char *explain(OneSidedReason reason) noexcept {
  switch (reason) {
    case OneSidedReason::kSelf:
      return "directly: the memory is this rank's own";
    case OneSidedReason::kMapped:
      return "directly: the target's memory is mapped here";
    case OneSidedReason::kDynamic:
      return "by messages: only the target knows what is attached to a dynamic window";
    case OneSidedReason::kOtherNode:
      return "by messages: the target is on another node, or shares no memory for locks";
    case OneSidedReason::kNotExported:
      return "by messages: the target's memory has no handle for other processes";
    case OneSidedReason::kNoRuntime:
      return "by messages: the runtime of the target's memory is not loaded here";
    case OneSidedReason::kRefused:
      return "by messages: the target's memory could not be mapped here";
    case OneSidedReason::kHostWindow:
      return "by the host MPI, through staging memory: the window is the host MPI's";
  }
  return "by messages";
}

}  // namespace sluice::plan
