// SPDX-License-Identifier: BSD-3-Clause
// What this rank says of the lengths that it gives in a collective call (plan/length_terms.hpp), from its arguments.
// All of it: any thread.
#pragma once

#include <cstdint>

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "plan/length_terms.hpp"

namespace sluice::ops::coll {

using plan::kLengthPrime;

// Whether the calls that `call` is one of can be compared at all; the same on all ranks. Not between groups, nor of
// neighbours, whose edges only the host MPI knows.
[[nodiscard]] bool has_length_term(const Call &call, const Member &member) noexcept;

// This rank's term: the sum over all ranks is 0 modulo kLengthPrime where the lengths, in bytes, fit together.
// Arguments that the host MPI refuses count as no bytes. Local. Hot: some ten multiplications, and two for each block
// where blocks have lengths of their own.
[[nodiscard]] std::uint32_t length_term(const Call &call, const Member &member);

// What all ranks have to give alike in the operations that go in levels or in segments: a number below kLengthPrime; 0
// of calls that each rank knows its own part of alone. Local.
[[nodiscard]] int common_length(const Call &call, const Member &member);

}  // namespace sluice::ops::coll
