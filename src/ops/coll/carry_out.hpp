// SPDX-License-Identifier: BSD-3-Clause
// carry_out(): a collective call from its arguments to its end. An operation's own file says which of its arguments
// count at this rank; all that follows is the same for all of them.
#pragma once

#include "ops/coll/call.hpp"
#include "ops/coll/collective_side.hpp"
#include "ops/coll/member.hpp"
#include "ops/env/errors.hpp"

namespace sluice::ops::coll {

// The buffers of one call at this rank. One stays as constructed where it means nothing.
struct Sides {
  CollectiveSide send;
  CollectiveSide recv;

  [[nodiscard]] bool is_staged() const noexcept { return send.is_staged() || recv.is_staged(); }
  // Takes the staging memory and puts it into the call's arguments.
  [[nodiscard]] Status open(Call *call);
  [[nodiscard]] Status copy_down() const;
  [[nodiscard]] Status copy_up() const;
  void record(Operation operation, std::chrono::nanoseconds time) const noexcept;
};

// Nobody asks what the buffers are: no backend is loaded, and nothing is counted.
[[nodiscard]] bool needs_no_sides() noexcept;
// The same, as it was when the call began.
[[nodiscard]] bool needed_no_sides() noexcept;
// What this process is in the communicator matters: for its buffers, or for other ranks that have device memory.
[[nodiscard]] bool needs_member() noexcept;

// Whether `op` is one that the program has made; MPI_OP_NULL is none. Any thread.
[[nodiscard]] bool is_by_own_operation(MPI_Op op);

// Makes a blocking call of the host MPI: its blocking function where the ranks meet and all of them trust it with what
// they gave, else its non-blocking one in turns. Returns an error code, raised already.
[[nodiscard]] int call_in_turns(const Call &call);

// Plan, execute and complete, after `classified`, which says how classifying went. First the form that the ranks of a
// node take together (carry_out_on_node.hpp). Else the staged form: what the host MPI may not touch is brought into its
// reach, and the host MPI does the rest; each rank decides for itself. `member` is null where nobody has to know.
int plan_and_execute(Call *call, const Member *member, Sides *sides, const Status &classified);

// `classify` is given the member, and classifies the sides that count.
template <typename Classify>
int carry_out(Call *call, Classify classify) {
  return guarded(call->comm, [&]() -> int {
    Sides sides;
    Status classified;
    Member member;
    const bool is_known = needs_member() && Member::of(call->comm, &member);
    if (is_known && !needs_no_sides()) classified = classify(member, &sides);
    return plan_and_execute(call, is_known ? &member : nullptr, &sides, classified);
  });
}

}  // namespace sluice::ops::coll
