// SPDX-License-Identifier: BSD-3-Clause
// How long the buffers of a collective call are, from its arguments. All of it: any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"

namespace sluice::ops::coll {

// The bytes of the longest buffer of any rank, from arguments that MPI demands to mean the same on all ranks.
// kAnyLength: no rank knows it, so all have to look. None: a rank with such arguments is for the host MPI to refuse.
// Hot.
inline constexpr std::uint64_t kAnyLength = ~std::uint64_t{0};
[[nodiscard]] std::optional<std::uint64_t> common_bytes(const Call &call, const Member &member);

// Bytes of an element of `type`; none of one that the host MPI does not know. Hot where the type is predefined.
[[nodiscard]] std::optional<std::uint64_t> element_bytes(MPI_Datatype type);

}  // namespace sluice::ops::coll
