// SPDX-License-Identifier: BSD-3-Clause
// RequestGroup: how the ranks of a communicator come to carry out non-blocking calls together though none of them may
// wait (docs/adr/0017). The first such call begins steps: over a communicator of ours, which was made with theirs, the
// ranks ask each other whether all have device memory in it, and make a NodeGroup if they do, which knows the edges of
// a topology. Calls that come meanwhile wait for the answer, in their order. Movements and reductions are
// asked about by themselves, and again after a blocking call that was staged: a program may have both kinds of memory.
// Hangs on the communicator, and goes with it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/call/call_order.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/coll/node/node_of_comm.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/comm/staging_comm.hpp"

namespace sluice::ops::coll {

// Threads: any; each function holds the lock of the group, and none but make_ahead() waits for another rank. An error
// of the host MPI is kept: from then on advance() says kFailed, and failure() has its code.
class RequestGroup {
 public:
  enum class Way : std::uint8_t {
    kWait,      // for the answer, or for a call before it
    kTogether,  // join the group's queue
    kStaged,    // the host MPI does it, in comm()
    kFailed,    // the host MPI could not do what this takes: failure()
  };

  // With what hangs on `comm` already. Where can_begin().
  RequestGroup(MPI_Comm comm, const Member &member, const CommState &state);
  ~RequestGroup();
  RequestGroup(const RequestGroup &) = delete;
  RequestGroup &operator=(const RequestGroup &) = delete;
  RequestGroup(RequestGroup &&) = delete;
  RequestGroup &operator=(RequestGroup &&) = delete;

  // In a call that has just made `comm`, on all of its ranks, or in MPI_Init: has another communicator with the same
  // ranks ready, if they are on one node and all have room for it. Collective over `comm`; blocks, in turns. What fails
  // is logged.
  static void make_ahead(MPI_Comm comm) noexcept;
  // Whether there is one. The same on all ranks.
  [[nodiscard]] static bool can_begin(const NodeOfComm &node) noexcept { return node.request_comm != nullptr; }

  // One more call, which has device memory here or not, and is `name` in the order of all of the communicator. Returns
  // its number among those that join: in one order on all ranks, since MPI has collective calls made in one.
  [[nodiscard]] std::uint64_t join(Pattern pattern, bool has_device, const void *name);
  // Takes the steps that are possible now, without blocking, and says what call `number` of that name is to do. What
  // goes over comm(), questions too, waits until all earlier calls have left the order. A caller that is told anything
  // but kWait does that, and then calls settle(), once for each join().
  [[nodiscard]] Way advance(Pattern pattern, std::uint64_t number, const void *name);
  void settle() noexcept;

  // No question is open, and no call waits.
  [[nodiscard]] bool is_settled() const noexcept;
  // What the ranks have together; null where they could not, or had no device memory so far. When is_settled().
  [[nodiscard]] NodeGroupPtr group() const noexcept;
  // The same for calls that need not join here any more: they go straight to the group's queue. Null until then.
  // `after_staged`: where a blocking call since was staged they are to join, and the first of them asks.
  [[nodiscard]] NodeGroupPtr ready_group(Pattern pattern, bool after_staged) noexcept;
  // What the ranks made in a blocking call. When is_settled().
  void take_group(NodeGroupPtr group) noexcept;
  // For what was told kStaged. Errors in it come back as codes.
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_->get(); }
  // The host MPI's error code, or MPI_SUCCESS.
  [[nodiscard]] int failure() const noexcept;

 private:
  // Each waits for one request of the host MPI.
  enum class Phase : std::uint8_t { kNone, kAsk, kName, kAgree, kEdges };
  // Of movements, and of reductions.
  struct Calls {
    std::uint64_t n_joined = 0;                 // since they began to ask
    std::uint64_t first_together = UINT64_MAX;  // calls from this one on
  };
  struct Question {
    std::uint64_t number = 0;    // the call that it is asked for
    const void *name = nullptr;  // of that call in order_
    Pattern pattern{};
    bool has_device = false;
  };

  // All with the lock.
  [[nodiscard]] Calls &calls_of(Pattern pattern) noexcept { return is_reduction(pattern) ? reductions_ : movements_; }
  void go_on();
  // Begins what follows the step that has ended, if anything does. Returns the host MPI's error code, as those below.
  [[nodiscard]] int go_on_behind(Phase done);
  [[nodiscard]] int ask();
  [[nodiscard]] int tell_name();
  [[nodiscard]] int open_and_agree();
  [[nodiscard]] int ask_for_edges();
  [[nodiscard]] bool take_edges();
  void end(bool is_good);

  mutable std::mutex mutex_;
  const Member member_;
  const std::vector<int> world_ranks_;
  NodeGroupPtr group_;
  StagingCommPtr comm_;
  const CallOrderPtr order_;
  const NeighborhoodPtr neighbors_;  // of a communicator with a topology
  Phase step_ = Phase::kNone;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Agreement<1> agreement_;
  std::optional<EdgeInquiry> inquiry_;
  bool has_edges_ = false;
  wire::SharedSegment segment_;
  wire::SegmentName name_{};
  std::deque<Question> questions_;  // the first is being asked
  std::uint64_t n_joined_ = 0;
  std::uint64_t n_settled_ = 0;
  Calls movements_;
  Calls reductions_;
  int failure_ = MPI_SUCCESS;
};

using RequestGroupPtr = std::shared_ptr<RequestGroup>;

}  // namespace sluice::ops::coll
