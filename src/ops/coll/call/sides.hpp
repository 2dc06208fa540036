// SPDX-License-Identifier: BSD-3-Clause
// Sides: the two buffers of a collective call at this rank.
#pragma once

#include <chrono>

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/collective_side.hpp"

namespace sluice::ops::coll {

// The buffers of one call at this rank. One stays as constructed where it means nothing. Threads: one at a time. The
// memory is the program's, and stays until the call is complete; staging memory goes with the sides.
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
  // A buffer lies on a device; a refused one, too.
  [[nodiscard]] bool has_device() const noexcept {
    return send.content() == CollectiveSide::Content::kDevice || recv.content() == CollectiveSide::Content::kDevice;
  }
  // The first side's that has one.
  [[nodiscard]] const Status &refusal() const noexcept {
    return send.refusal().is_ok() ? recv.refusal() : send.refusal();
  }
  // Takes the staging memory and puts it into the call's arguments. Errors: there is no staging memory. State: then the
  // arguments of one side may be those of staging memory already, so the call goes no further.
  [[nodiscard]] Status open(Call *call);
  // Into staging memory, of sides that are open: what the call reads, or what it may leave alone. Blocks: for the
  // copies. Errors: the runtime's. State: what lies in staging memory then is not to be sent.
  [[nodiscard]] Status copy_down(Down down) const;
  // What is read; and, where nobody compares the lengths of the call (docs/adr/0062), what its messages may leave
  // alone: one that moves data may be shorter than the block that it is for. Errors: of what is read. Without the rest
  // the call goes on, and a warning says why.
  [[nodiscard]] Status copy_down_uncompared(Pattern pattern) const;
  // From staging memory into what the call writes, when the host MPI is done. Blocks: for the copies. Errors: the
  // runtime's. State: the program's buffer may hold a part of the result then.
  [[nodiscard]] Status copy_up() const;
  // Counts the call in the statistics, by the route that each side took.
  void record(Operation operation, std::chrono::nanoseconds time) const noexcept;
  // The same of a call that went in segments: a staged side counts as pipelined.
  void record_in_segments(Operation operation, std::chrono::nanoseconds time) const noexcept;
};

// Looks for backends that have come into the process. True: it matters what the buffers are, because a backend is
// loaded or calls are counted. A call looks once, at its beginning. Any thread.
[[nodiscard]] bool look_whether_sides_matter() noexcept;
// The same as at the last look. Hot. Any thread.
[[nodiscard]] bool sides_matter() noexcept;
// Looks as look_whether_sides_matter(). True: it matters what this process is in the communicator, for its own buffers
// or for other ranks that have device memory. Any thread.
[[nodiscard]] bool look_whether_member_matters() noexcept;

}  // namespace sluice::ops::coll
