// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/levels/level_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "generated/operations.hpp"
#include "ops/coll/requests/general_request.hpp"
#include "ops/env/errors.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

using plan::Levels;

// The error of a step, of the host MPI's or of ours, in its own words.
Status step_error(const Call &call, int code) {
  std::string text;
  if (!find_error_text(code, &text)) return host_error(call, code);
  return Status::error(kind_of(code), fmt::format("{} in two levels: {}", name(call.operation), text));
}

}  // namespace

LevelRequest::LevelRequest(const Call &call, const Member &member, Sides sides, const plan::LevelQuery &query,
                           LevelGroupPtr group)
    : EngineRequest(call, member, std::move(sides)), query_(query), group_(std::move(group)) {
  const NodeMap &map = group_->map();
  const auto rank = static_cast<std::size_t>(member_.rank);
  local_ = map.local[rank];
  n_local_ = static_cast<int>(std::count(map.node.begin(), map.node.end(), map.node[rank]));
}

int LevelRequest::make(const Call &call, const Member &member, Sides sides, const Status &classified,
                       const plan::LevelQuery &query, LevelGroupPtr group) {
  return EngineRequest::make(std::make_shared<LevelRequest>(call, member, std::move(sides), query, std::move(group)),
                             classified);
}

void LevelRequest::begin(const std::shared_ptr<EngineRequest> &self) {
  first_error_ = {};
  phase_ = Phase::kAsking;
  if (is_persistent()) {
    group_->join(this, choose_levels(query_));
  } else {
    group_->join(this, query_, classified_.is_ok() ? static_cast<int>(query_.ability) : LevelGroup::kFailed);
  }
  // So that the others hear of it, though the program may compute from here on.
  if (!advance()) progress::Engine::process().watch(self);
}

bool LevelRequest::go_on() {
  if (phase_ == Phase::kAsking && decide()) return true;
  switch (phase_) {
    case Phase::kAsking:
      return false;
    case Phase::kFlat:
      return begin_flat();
    case Phase::kInHost:
      return go_on_staged();
    case Phase::kInLevels:
      return go_on_in_levels();
  }
  return false;
}

// True where that ends it.
bool LevelRequest::decide() {
  const LevelGroup::Answer answer = group_->hear(this);
  if (!answer.is_there) return false;
  if (const int code = group_->failure(); code != MPI_SUCCESS) return complete(host_error(call_, code));
  if (answer.is_asked && answer.least == LevelGroup::kFailed) return complete(failure_for_all(call_, classified_));
  if (!is_persistent()) {
    const plan::LevelQuery &query = answer.is_asked ? answer.query : query_;
    log_plan(call_, [&] { return explain(member_.size, query, answer.plan); });
  }
  phase_ = answer.plan.levels == Levels::kFlat ? Phase::kFlat : Phase::kInLevels;
  if (phase_ == Phase::kInLevels) divide(answer.plan.levels);
  return false;
}

void LevelRequest::divide(Levels form) {
  // A type that the host MPI knows, with gaps in some: each rank has found a kernel for it.
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  note(wire::host().MPI_Type_get_extent(call_.recv.type, &lower, &extent));
  element_bytes_ = static_cast<std::uint64_t>(std::max<MPI_Aint>(extent, 1));
  const int n_lanes = form == Levels::kLeaders ? 1 : group_->map().least_local;
  slices_ =
      std::make_unique<LevelSlices>(static_cast<std::uint64_t>(call_.recv.count), element_bytes_, n_lanes, n_local_);
  step_ = LevelPhase::kNode;
  is_begun_ = false;
}

// As the call would have been staged without the others. A rank that fails here leaves them waiting, as it would then.
bool LevelRequest::begin_flat() {
  if (!group_->may_take(this, LevelPhase::kNode)) return false;
  if (Status status = stage(group_->flat()); !status.is_ok()) return complete(std::move(status));
  group_->leave(this);
  phase_ = Phase::kInHost;
  return false;
}

// A step that fails here does not end the call: the others wait in the next one.
bool LevelRequest::go_on_in_levels() {
  for (;;) {
    if (!is_begun_) {
      if (!group_->may_take(this, step_)) return false;
      begin_step();
      group_->note_taken(this, step_);
      is_begun_ = true;
    }
    int is_done = step_request_ == MPI_REQUEST_NULL ? 1 : 0;
    if (is_done == 0) {
      // A turn within this one does nothing.
      const int code = ops::test(&step_request_, &is_done, MPI_STATUS_IGNORE);
      note(code);
      if (code == MPI_SUCCESS && is_done == 0) return false;
      step_request_ = MPI_REQUEST_NULL;
    }
    is_begun_ = false;
    if (step_ == LevelPhase::kShare) {
      return complete(first_error_);
    }
    step_ = step_ == LevelPhase::kNode ? LevelPhase::kLane : LevelPhase::kShare;
  }
}

void LevelRequest::begin_step() {
  int code = MPI_SUCCESS;
  step_request_ = MPI_REQUEST_NULL;
  if (step_ == LevelPhase::kLane) {
    if (slices_->counts[own()] > 0) code = reduce_in_lane();
  } else if (n_local_ > 1) {
    code = step_ == LevelPhase::kNode ? reduce_on_node() : share_on_node();
  }
  note(code);
  if (code != MPI_SUCCESS) step_request_ = MPI_REQUEST_NULL;
}

// Each rank of the node gets its slice, where it belongs: of a call in place over the same slice of its own input,
// which nobody else reads.
int LevelRequest::reduce_on_node() {
  const void *const in = call_.input().buffer;
  return ops::ireduce_scatter(in, own_slice(), slices_->counts.data(), call_.recv.type, call_.op,
                              group_->comm_of(LevelPhase::kNode), &step_request_);
}

int LevelRequest::reduce_in_lane() {
  Call part = call_;
  part.form = Form::kNonBlocking;
  if (is_persistent()) part.start = call_.start_once;
  part.comm = group_->comm_of(LevelPhase::kLane);
  part.request = &step_request_;
  part.recv.buffer = own_slice();
  part.recv.count = slices_->counts[own()];
  part.send.count = part.recv.count;
  if (n_local_ > 1 || call_.send.is_in_place() || call_.send.buffer == call_.recv.buffer) {
    part.send.buffer = MPI_IN_PLACE;
  } else {
    part.send.set_buffer(static_cast<const std::byte *>(call_.send.buffer) +
                         static_cast<std::uint64_t>(slices_->places[own()]) * element_bytes_);
  }
  part.may_be_cut = true;
  return allreduce(&part);
}

int LevelRequest::share_on_node() {
  return ops::iallgatherv(MPI_IN_PLACE, 0, call_.recv.type, call_.recv.buffer, slices_->counts.data(),
                          slices_->places.data(), call_.recv.type, group_->comm_of(LevelPhase::kShare), &step_request_);
}

void LevelRequest::note(int code) {
  if (code != MPI_SUCCESS && first_error_.is_ok()) first_error_ = step_error(call_, code);
}

}  // namespace sluice::ops::coll
