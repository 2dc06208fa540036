// SPDX-License-Identifier: BSD-3-Clause
// NodeGroup: the ranks of a communicator that lie on one node, with a board between them (transfer/board.hpp). Hangs on
// the communicator, and goes with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/neighbor_edges.hpp"
#include "ops/coll/node/node_of_comm.hpp"
#include "ops/comm/attempts.hpp"
#include "ops/comm/staging_comm.hpp"
#include "transfer/board.hpp"
#include "wire/mpi.hpp"
#include "wire/shared_segment.hpp"

namespace sluice::ops::coll {

class NodeQueue;
class ReductionMemo;

// Threads: one at a time on the communicator, as MPI has collective calls. Beside them RequestGroup changes it in
// turns, with its own lock, until its calls are settled, for which of() waits. Of board() what is said of calls goes
// with the lock of queue(), and votes go in blocking calls.
class NodeGroup {
 public:
  // The group of `comm`; null when its ranks cannot have one (not all on this node, without the private channel, too
  // many), which is the same on all of them, or agreed that there is none (no shared memory). Collective over `comm` at
  // the first call where they can, and while non-blocking calls wait for theirs: blocks, in turns. Errors: those of the
  // host MPI. Hot.
  [[nodiscard]] static Status of(MPI_Comm comm, const Member &member, std::shared_ptr<NodeGroup> *group);
  // The same for persistent calls, with a communicator for what they stage. Collective over `comm`; blocks, in turns.
  // Errors: those of the host MPI.
  [[nodiscard]] static Status for_persistent(MPI_Comm comm, const Member &member, std::shared_ptr<NodeGroup> *group);

  NodeGroup(wire::SharedSegment segment, const Member &member, std::vector<int> world_ranks);
  ~NodeGroup();
  NodeGroup(const NodeGroup &) = delete;
  NodeGroup &operator=(const NodeGroup &) = delete;
  NodeGroup(NodeGroup &&) = delete;
  NodeGroup &operator=(NodeGroup &&) = delete;

  // Both live as long as the group. The queue has a lock of its own.
  [[nodiscard]] transfer::Board &board() noexcept { return board_; }
  [[nodiscard]] NodeQueue &queue() noexcept { return *queue_; }
  // With the lock of queue().
  [[nodiscard]] ReductionMemo &last_reduction() noexcept { return *last_reduction_; }
  [[nodiscard]] int world_rank(int rank) const noexcept { return world_ranks_[static_cast<std::size_t>(rank)]; }
  // For non-blocking and persistent calls; MPI_COMM_NULL until there are any. Where a RequestGroup cannot begin, there
  // is one as soon as there is the group.
  [[nodiscard]] MPI_Comm staging_comm() const noexcept {
    return staging_comm_ == nullptr ? MPI_COMM_NULL : staging_comm_->get();
  }
  // Takes `comm` where it has none.
  void take_staging_comm(StagingCommPtr comm) noexcept {
    if (staging_comm_ == nullptr) staging_comm_ = std::move(comm);
  }

  // Of a topology: what the ranks know so far.
  [[nodiscard]] NeighborEdges &edges() noexcept { return edges_; }
  // Finds out how the blocks of `call` are paired, if it is an exchange between neighbours; of those that are blocking
  // or make a persistent request.
  // Collective over its communicator; blocks, in turns. Errors: those of the host MPI. Hot when it is known.
  [[nodiscard]] Status learn_edges(const Call &call, const Member &member);

  // Before a blocking call of which no rank knows how long it is for the others: whether they vote on it. They do
  // unless the last such call went together: then the next one may well do so too.
  [[nodiscard]] bool is_voted_on() const noexcept { return is_voted_on_; }
  void set_voted_on(bool is_so) noexcept { is_voted_on_ = is_so; }
  // In a blocking call that all ranks make alike: blocks, in turns beside the host MPI, until all have voted. The same
  // outcome on all ranks. Errors: a rank said what none says; *outcome is kNoVote then.
  [[nodiscard]] Status vote(transfer::Vote own, std::uint32_t term, transfer::Voted *outcome);
  // The same in two halves: says it, and waits until all have. What goes on between them ends with the second on all
  // ranks, or does not end without all of them. Errors of the second: as vote().
  void cast(transfer::Vote own, std::uint32_t term);
  [[nodiscard]] std::uint64_t n_votes() const noexcept { return n_votes_; }
  [[nodiscard]] Status hear_cast(transfer::Voted *outcome);

  // Whether the ranks look at the next blocking call together; `length`: its class (ops/comm/attempts.hpp), 0 where not
  // all know it.
  [[nodiscard]] bool is_due(Pattern pattern, std::size_t length) noexcept {
    return trials_of(pattern).attempts[length].is_due();
  }
  // How a blocking call that they looked at came out, or that they agreed that all had device memory in a non-blocking
  // one. Not noted is one that was staged for its length alone, since that says nothing of the next one; nor how
  // non-blocking ones came out, because the ranks learn of that at different times.
  void note_together(Pattern pattern) noexcept {
    Trials &trials = trials_of(pattern);
    for (Attempts &attempts : trials.attempts) attempts.note_good();
    trials.is_good = true;
  }
  void note_alone(Pattern pattern, std::size_t length) noexcept {
    trials_of(pattern).attempts[length].note_vain();
    trials_of(pattern).is_good = false;
  }
  // Of blocking calls alone, so that all ranks know it at the same of their calls: one of them went together, so there
  // are devices.
  void note_met(Pattern pattern) noexcept { trials_of(pattern).has_met = true; }
  [[nodiscard]] bool have_met(Pattern pattern) noexcept { return trials_of(pattern).has_met; }
  // Whether they look at non-blocking calls together: as the last blocking one came out, or as they agreed.
  [[nodiscard]] bool is_good(Pattern pattern) noexcept { return trials_of(pattern).is_good; }

 private:
  // Of calls that move data and of reductions, which succeed and fail for other reasons.
  struct Trials {
    bool is_good = false;
    bool has_met = false;
    std::array<Attempts, kLengthClasses> attempts;
  };
  [[nodiscard]] Trials &trials_of(Pattern pattern) noexcept { return is_reduction(pattern) ? reductions_ : movements_; }

  wire::SharedSegment segment_;
  transfer::Board board_;  // in the segment
  std::unique_ptr<NodeQueue> queue_;
  std::unique_ptr<ReductionMemo> last_reduction_;
  std::vector<int> world_ranks_;
  StagingCommPtr staging_comm_;
  NeighborEdges edges_;
  bool is_voted_on_ = true;
  std::uint64_t n_votes_ = 0;
  Trials movements_;
  Trials reductions_;
};

using NodeGroupPtr = std::shared_ptr<NodeGroup>;

// Rank 0 makes the segment of a board, and what it sends to the others of its name; any other rank does nothing. Where
// it cannot, `name` stays empty and a warning says why. Any thread.
void make_board(const Member &member, wire::SharedSegment *segment, wire::SegmentName *name);
// The others open it by that name. Whether this rank has it now; if not, a warning says why. Any thread.
[[nodiscard]] bool open_board(const Member &member, const wire::SegmentName &name, wire::SharedSegment *segment);
// When all have it, or not: takes the name away again, on rank 0. Any thread.
void forget_board_name(const Member &member, const wire::SegmentName &name) noexcept;

}  // namespace sluice::ops::coll
