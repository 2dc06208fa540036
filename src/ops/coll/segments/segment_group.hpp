// SPDX-License-Identifier: BSD-3-Clause
// SegmentGroup: what non-blocking and persistent collective calls of a communicator that go in segments share: two
// communicators of ours, and the order of those under way (docs/adr/0022). Hangs on the communicator, and goes with it.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "ops/coll/call/call_order.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/comm/attempts.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/comm/staging_comm.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

// Threads: one at a time on the communicator, as MPI has collective calls. questions(), data() and order(), once both
// communicators are there: any.
class SegmentGroup {
 public:
  // For a non-blocking call that could use the group: the group, if it is there. Else null, and a later blocking call
  // makes it. `has_device`: this call has device memory at this rank. Local.
  [[nodiscard]] static std::shared_ptr<SegmentGroup> find(MPI_Comm comm, bool has_device);
  // As find(), for a call whose length may differ among the ranks. `is_long`: it is long at this rank, and has device
  // memory. Also null after such calls that were short on all ranks: the ranks have agreed on that.
  [[nodiscard]] static std::shared_ptr<SegmentGroup> find_unequal(MPI_Comm comm, bool is_long);
  // In a blocking collective call: makes the group, if find() or find_unequal() has asked for it and any rank had
  // device memory then. Collective over `comm` where it does anything; blocks, in turns. Errors: those of the host MPI.
  // Hot where nobody has asked.
  [[nodiscard]] static Status seek(MPI_Comm comm, const Member &member);

  // Each begins to make one of the two communicators, without waiting: first that of questions, and when it is there
  // that of data. Local. Errors: those of the host MPI.
  [[nodiscard]] Status start_questions(MPI_Comm comm, MPI_Request *request) {
    return questions_.start_duplicate(comm, request);
  }
  [[nodiscard]] Status start_data(MPI_Request *request) { return data_.start_duplicate(questions_.get(), request); }
  // When both are there. Returns the host MPI's code.
  [[nodiscard]] int return_errors() const;

  // Where ranks ask each other about a call when it begins, and where its data moves, one call after the other. Errors
  // in them come back as codes.
  [[nodiscard]] MPI_Comm questions() const noexcept { return questions_.get(); }
  [[nodiscard]] MPI_Comm data() const noexcept { return data_.get(); }

  // The order of the calls under way. A call leaves it when it has made all of its calls of the host MPI on data().
  [[nodiscard]] CallOrder &order() noexcept { return order_; }

 private:
  bool serves_unequal_ = false;  // belongs to whoever is in a collective call on the communicator
  StagingComm questions_;
  StagingComm data_;
  CallOrder order_;
};

using SegmentGroupPtr = std::shared_ptr<SegmentGroup>;

// What the calls of a communicator share that go in segments, or could. Calls whose length may differ among the ranks
// are counted apart.
struct SegmentsOfComm {
  static constexpr CommPart kPart = CommPart::kSegments;

  SegmentGroupPtr group;
  // How often blocking calls ask each other whether to stage in segments (in_segments.hpp).
  Attempts attempts;
  Attempts unequal_attempts;
  // Calls with requests that could have gone so, and did not for want of a group.
  DeferredAgreement wishes;
  DeferredAgreement unequal_wishes;
};

}  // namespace sluice::ops::coll
