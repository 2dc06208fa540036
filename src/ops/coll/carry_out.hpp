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
  // The program's two buffers overlap, which MPI forbids. They do in staging memory, too, so that the host MPI says
  // what it says alone; and nothing else carries such a call out.
  bool overlap = false;

  // Finds out whether they do, of sides that are classified. Buffers with gaps may lie between each other. `comm`: the
  // steps that Sluice's own levels take on theirs may write over what they read.
  void look_for_overlap(MPI_Comm comm);
  [[nodiscard]] bool is_staged() const noexcept { return send.is_staged() || recv.is_staged(); }
  // The first side's that has one.
  [[nodiscard]] const Status &refusal() const noexcept {
    return send.refusal().is_ok() ? recv.refusal() : send.refusal();
  }
  // Takes the staging memory and puts it into the call's arguments.
  [[nodiscard]] Status open(Call *call);
  [[nodiscard]] Status copy_down(Down down) const;
  // What is read; and, where nobody compares the lengths of the call (docs/adr/0062), what its messages may leave
  // alone: one that moves data may be shorter than the block that it is for. Errors: of what is read. Without the rest
  // the call goes on, and a warning says why.
  [[nodiscard]] Status copy_down_uncompared(Pattern pattern) const;
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
    if (is_known && !needs_no_sides()) {
      classified = classify(member, &sides);
      sides.look_for_overlap(call->comm);
    }
    return plan_and_execute(call, is_known ? &member : nullptr, &sides, classified);
  });
}

}  // namespace sluice::ops::coll
