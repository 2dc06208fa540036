// SPDX-License-Identifier: BSD-3-Clause
// NodeGroup: the ranks of a communicator that lie on one node, with a board between them (transfer/board.hpp). Hangs on
// the communicator, and goes with it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/member.hpp"
#include "transfer/board.hpp"
#include "wire/mpi.hpp"
#include "wire/shared_segment.hpp"

namespace sluice::ops::coll {

class NodeGroup {
 public:
  // The group of `comm`; null when its ranks cannot have one (not all on this node, without the private channel, too
  // many), which is the same on all of them, or agreed that there is none (no shared memory). Collective over `comm` at
  // the first call where they can: blocks, in turns. Errors: those of the host MPI. Hot.
  [[nodiscard]] static Status of(MPI_Comm comm, const Member &member, std::shared_ptr<NodeGroup> *group);

  NodeGroup(wire::SharedSegment segment, const Member &member, std::vector<int> world_ranks) noexcept
      : segment_(std::move(segment)),
        board_(segment_.data(), member.size, member.rank),
        world_ranks_(std::move(world_ranks)) {}

  [[nodiscard]] transfer::Board &board() noexcept { return board_; }
  [[nodiscard]] int world_rank(int rank) const noexcept { return world_ranks_[static_cast<std::size_t>(rank)]; }

  // Whether the ranks look at the next call together. After calls that they had better not (note_alone) they leave some
  // out, more each time: a program whose buffers are all on the host pays for few. Counts the calls, in step on all
  // ranks.
  [[nodiscard]] bool is_due() noexcept {
    if (n_left_out_ == 0) return true;
    --n_left_out_;
    return false;
  }
  void note_together() noexcept { n_to_leave_out_ = 0; }
  void note_alone() noexcept {
    n_left_out_ = n_to_leave_out_;
    n_to_leave_out_ = n_to_leave_out_ >= kMostLeftOut ? kMostLeftOut : n_to_leave_out_ * 2 + 1;
  }

 private:
  static constexpr std::uint32_t kMostLeftOut = 63;

  wire::SharedSegment segment_;
  transfer::Board board_;  // in the segment
  std::vector<int> world_ranks_;
  std::uint32_t n_left_out_ = 0;
  std::uint32_t n_to_leave_out_ = 0;
};

using NodeGroupPtr = std::shared_ptr<NodeGroup>;

}  // namespace sluice::ops::coll
