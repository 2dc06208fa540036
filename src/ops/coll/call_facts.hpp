// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a collective call know of it, and the ways that they try (plan/ways.hpp): found once, at the
// beginning of the call. Threads: any, one at a time on a communicator, as MPI has collective calls.
#pragma once

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"

namespace sluice::ops::coll {

// Fills in call->facts and call->ways. `member` is null where nobody knows what this process is; then the host MPI
// carries the call out. Local. May throw std::bad_alloc. Hot where the communicator has seen a call with the same
// arguments, but for the addresses, and they have neither arrays nor types of the program's; else warm.
void find_facts(const Member *member, Call *call);

}  // namespace sluice::ops::coll
