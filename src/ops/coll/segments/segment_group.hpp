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

class SegmentGroup {
 public:
  // For a non-blocking call that could use it: what is there already. Else null, and a later blocking call makes it;
  // `has_device` says whether this call has device memory here. Local.
  [[nodiscard]] static std::shared_ptr<SegmentGroup> find(MPI_Comm comm, bool has_device);
  // The same for a call of which no rank knows how long it is for the others; `is_long` says whether it is here, of
  // device memory. Null as well where the last of those calls were short on all ranks, as these agreed.
  [[nodiscard]] static std::shared_ptr<SegmentGroup> find_unequal(MPI_Comm comm, bool is_long);
  // In a blocking collective call: makes it where those two have asked for it, if any rank had device memory then.
  // Collective over `comm` where it does anything; blocks, in turns. Errors: those of the host MPI. Hot where nobody
  // has asked.
  [[nodiscard]] static Status seek(MPI_Comm comm, const Member &member);

  // That of a communicator of ours, which may not wait: first the one, and when that is there the other. Local. Errors:
  // those of the host MPI.
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

  // Of the calls under way, which leave when they have made all of their calls of the host MPI in data().
  [[nodiscard]] CallOrder &order() noexcept { return order_; }

 private:
  bool serves_unequal_ = false;  // belongs to whoever is in a collective call on the communicator
  StagingComm questions_;
  StagingComm data_;
  CallOrder order_;
};

using SegmentGroupPtr = std::shared_ptr<SegmentGroup>;

// What a communicator's calls share that go in segments, or could. Those of which each rank knows its own part alone
// are counted for themselves.
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
