// SPDX-License-Identifier: BSD-3-Clause
// NodeGroup: the ranks of a communicator that lie on one node, with a board between them (transfer/board.hpp). Hangs on
// the communicator, and goes with it.
#pragma once

#include <memory>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/attempts.hpp"
#include "ops/coll/member.hpp"
#include "transfer/board.hpp"
#include "wire/mpi.hpp"
#include "wire/shared_segment.hpp"

namespace sluice::ops::coll {

// A communicator of ours with the ranks of a program's one, for what non-blocking calls stage: they find out late that
// they do, and MPI orders the calls of a communicator. Move only. Freed when destroyed, before MPI_Finalize at least.
class StagingComm {
 public:
  StagingComm() noexcept = default;
  ~StagingComm();
  StagingComm(const StagingComm &) = delete;
  StagingComm &operator=(const StagingComm &) = delete;
  StagingComm(StagingComm &&) = delete;
  StagingComm &operator=(StagingComm &&) = delete;

  // Collective over `comm`. Blocks, in turns until all are here.
  [[nodiscard]] Status make(MPI_Comm comm);
  // MPI_COMM_NULL before. Returns errors.
  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class NodeQueue;

class NodeGroup {
 public:
  // The group of `comm`; null when its ranks cannot have one (not all on this node, without the private channel, too
  // many), which is the same on all of them, or agreed that there is none (no shared memory). Collective over `comm` at
  // the first call where they can, and when non-blocking calls have asked for it: blocks, in turns. Errors: those of
  // the host MPI. Hot.
  [[nodiscard]] static Status of(MPI_Comm comm, const Member &member, std::shared_ptr<NodeGroup> *group);
  // The same for a non-blocking call: what is there already, and can serve such calls. Else null, and a later blocking
  // call makes it; `has_device` says whether this call has device memory here. Local.
  [[nodiscard]] static std::shared_ptr<NodeGroup> find(MPI_Comm comm, bool has_device);
  // In a blocking call that has no use for the group itself: makes it for non-blocking calls that have asked for it, if
  // all ranks had device memory in them. Collective over `comm` where it does anything.
  [[nodiscard]] static Status seek_for_requests(MPI_Comm comm, const Member &member);

  NodeGroup(wire::SharedSegment segment, const Member &member, std::vector<int> world_ranks);
  ~NodeGroup();
  NodeGroup(const NodeGroup &) = delete;
  NodeGroup &operator=(const NodeGroup &) = delete;
  NodeGroup(NodeGroup &&) = delete;
  NodeGroup &operator=(NodeGroup &&) = delete;

  [[nodiscard]] transfer::Board &board() noexcept { return board_; }
  [[nodiscard]] NodeQueue &queue() noexcept { return *queue_; }
  [[nodiscard]] int world_rank(int rank) const noexcept { return world_ranks_[static_cast<std::size_t>(rank)]; }
  // For non-blocking calls; MPI_COMM_NULL until they have asked for it.
  [[nodiscard]] MPI_Comm staging_comm() const noexcept { return staging_comm_.get(); }

  // Whether the ranks look at the next blocking call together.
  [[nodiscard]] bool is_due() noexcept { return attempts_.is_due(); }
  // How a blocking call that they looked at came out; non-blocking ones do not count, because the ranks learn of that
  // at different times.
  void note_together() noexcept {
    attempts_.note_good();
    is_good_ = true;
  }
  void note_alone() noexcept {
    attempts_.note_vain();
    is_good_ = false;
  }
  // Whether they look at non-blocking calls together: as the last blocking one came out, or as they agreed.
  [[nodiscard]] bool is_good() const noexcept { return is_good_; }

 private:
  wire::SharedSegment segment_;
  transfer::Board board_;  // in the segment
  std::unique_ptr<NodeQueue> queue_;
  std::vector<int> world_ranks_;
  StagingComm staging_comm_;
  bool is_good_ = false;
  Attempts attempts_;
};

using NodeGroupPtr = std::shared_ptr<NodeGroup>;

// The least `value` of all ranks of `comm`. Collective; blocks, in turns. On an error *least is `value`.
[[nodiscard]] Status find_least(MPI_Comm comm, int value, int *least);

// Whether `value` is true on all ranks of `comm`. Collective; blocks, in turns. On an error it counts as false.
[[nodiscard]] Status agree_on_all(MPI_Comm comm, bool value, bool *is_true);

}  // namespace sluice::ops::coll
