// SPDX-License-Identifier: BSD-3-Clause
// The memory of one side of a one-sided operation, and how its payload comes to memory of the host and back. All of it:
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "ops/rma/call.hpp"
#include "transfer/region.hpp"

namespace sluice::ops::rma {

// The layout of `argument`'s type. Warm. Errors: a negative count, a type that cannot be used.
[[nodiscard]] Status find_layout(const Argument &argument, transfer::LayoutPtr *layout);

// Classifies a buffer of this rank's. Warm. Errors: the same, memory that was freed, the runtime's.
[[nodiscard]] Status classify(const Argument &argument, transfer::Region *region);

// The CPU may touch it.
[[nodiscard]] inline bool is_host(const transfer::Region &region) noexcept {
  return region.place.kind != MemoryKind::kDevice;
}

// Copies the first `size_bytes` of the payload of `region` to `packed`, memory of the host, or the other way; touches
// nothing else. Block. Errors: the runtime's; a part may have been written.
[[nodiscard]] Status read_payload(const transfer::Region &region, std::uint64_t size_bytes, std::byte *packed);
[[nodiscard]] Status write_payload(const transfer::Region &region, std::uint64_t size_bytes, const std::byte *packed);

}  // namespace sluice::ops::rma
