// SPDX-License-Identifier: BSD-3-Clause
// FoldGroup: what reductions with requests share that are folded in the order of the ranks (docs/adr/0030, "Order"):
// how their messages are told from others', and the order of those under way. Hangs on the program's communicator, and
// goes with it, or with the last call under way. PendingFold: such a call's way from its first exchange to its last.
//
// An exchange is started when the one before is complete, at times that differ from rank to rank, and MPI has the
// collective calls of a communicator in one order on all ranks. So exchanges are messages, on a communicator of ours
// over MPI_COMM_WORLD, with a tag for each of the program's communicators; and one call after the other is folded, in
// the order in which the program made them. Those that a device computes after all leave.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/call_order.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/fold/fold.hpp"
#include "progress/engine.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

// Threads: any, but for of(), one at a time on a communicator, and advance(), the engine's turns. tag() and
// world_rank() do not change once is_turn_of() was true.
class FoldGroup final : public progress::Task {
 public:
  // That of `comm`, in a collective call on it; the first one, on all ranks the same, begins to agree on the tag. Null
  // where a member is not of MPI_COMM_WORLD; the same on all. Local. Errors: those of the host MPI.
  [[nodiscard]] static Status of(MPI_Comm comm, std::shared_ptr<FoldGroup> *group);

  explicit FoldGroup(std::vector<int> world_ranks) noexcept : world_ranks_(std::move(world_ranks)) {}

  // Of the calls under way, which leave when they make no exchange any more.
  [[nodiscard]] CallOrder &order() noexcept { return order_; }
  // Whether it is the call's turn, and the tag is known. *code: the host MPI's; an error holds for all calls. Any
  // thread.
  [[nodiscard]] bool is_turn_of(const void *call, int *code);

  // Then.
  [[nodiscard]] int tag() const noexcept { return tag_; }
  [[nodiscard]] int world_rank(std::size_t rank) const noexcept { return world_ranks_[rank]; }

  // progress::Task: until the tag is known.
  [[nodiscard]] bool advance() override;

 private:
  [[nodiscard]] Status begin(MPI_Comm comm);

  const std::vector<int> world_ranks_;
  std::mutex mutex_;
  int tag_ = 0;
  MPI_Request asking_ = MPI_REQUEST_NULL;
  int failure_ = MPI_SUCCESS;
  CallOrder order_;
};

using FoldGroupPtr = std::shared_ptr<FoldGroup>;

// One rank's part of one such call. One thread at a time.
class PendingFold {
 public:
  // `call` outlives it, has joined the group by the address `name`, and lies in memory that the host MPI may touch.
  PendingFold(FoldGroupPtr group, const void *name, const Call &call, const Member &member);

  // Goes on without blocking. True when all is done; *code is the first error of the host MPI's then. May throw
  // std::bad_alloc.
  [[nodiscard]] bool advance(int *code);

 private:
  enum class Phase : unsigned char { kWaiting, kGathering, kSpreading, kDone };

  void exchange(const FoldExchange &wanted);
  [[nodiscard]] bool is_exchanged();
  void note(int code) noexcept {
    if (first_error_ == MPI_SUCCESS) first_error_ = code;
  }

  const FoldGroupPtr group_;
  const void *const name_;
  const std::size_t rank_;
  Fold fold_;
  Phase phase_ = Phase::kWaiting;
  std::vector<MPI_Request> requests_;  // of the exchange
  int first_error_ = MPI_SUCCESS;
};

}  // namespace sluice::ops::coll
