// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/segments/segment_request.hpp"

#include <exception>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "ops/coll/requests/general_request.hpp"

namespace sluice::ops::coll {
namespace {

using plan::SegmentAbility;

// What a rank says that has an error already: all get one then.
constexpr int kFailed = -1;

}  // namespace

SegmentRequest::SegmentRequest(const Call &call, const Member &member, Sides sides, const plan::SegmentQuery &query,
                               SegmentGroupPtr group)
    : EngineRequest(call, member, std::move(sides)), query_(query), group_(std::move(group)) {
  call_.comm = group_->data();
}

int SegmentRequest::make(const Call &call, const Member &member, Sides sides, const Status &classified,
                         const plan::SegmentQuery &query, SegmentGroupPtr group) {
  return EngineRequest::make(std::make_shared<SegmentRequest>(call, member, std::move(sides), query, std::move(group)),
                             classified);
}

// Memory ran out on this rank: no reason to leave the others waiting.
SegmentAbility SegmentRequest::open() noexcept {
  try {
    cut_ = std::make_unique<CutCall>(call_, member_);
    return cut_->open(sides_, &query_);
  } catch (const std::exception &error) {
    log::debug("ops", error.what());
    return SegmentAbility::kNone;
  }
}

void SegmentRequest::begin(const std::shared_ptr<EngineRequest> &self) {
  watch_ = statistics::Stopwatch();
  phase_ = Phase::kAsking;
  const int own = classified_.is_ok() ? static_cast<int>(open()) : kFailed;
  question_.say(own, query_.longest_bytes, classified_.is_ok() ? call_.facts.common_length : 0);
  group_->order().join(this);
  // In the order of the calls, on all ranks.
  const int code = question_.start(group_->questions(), &host_request_);
  if (code != MPI_SUCCESS) {
    host_request_ = MPI_REQUEST_NULL;
    question_.say(kFailed, 0, 0);
    if (classified_.is_ok()) classified_ = host_error(call_, code);
  }
  progress::Engine::process().watch(self);
}

bool SegmentRequest::go_on() {
  Status failure;
  switch (phase_) {
    case Phase::kAsking:
      if (!has_come(&failure)) return false;
      return failure.is_ok() ? decide() : complete(std::move(failure));
    case Phase::kWaiting:
      return begin_data();
    case Phase::kCutting: {
      if (!cut_->advance()) return false;
      question_.say(cut_->failure().is_ok() ? 1 : 0, 0, 0);
      const int code = question_.start(group_->data(), &host_request_);
      if (code != MPI_SUCCESS) return complete(host_error(call_, code));
      group_->order().leave(this);
      phase_ = Phase::kEnding;
      return false;
    }
    case Phase::kEnding:
      if (!has_come(&failure)) return false;
      return failure.is_ok() ? end() : complete(std::move(failure));
    case Phase::kWhole:
      return go_on_staged();
  }
  return true;
}

bool SegmentRequest::decide() {
  if (question_.least() == kFailed) return complete(failure_for_all(call_, classified_));
  question_.answer(&query_);
  const plan::SegmentPlan plan = choose_segments(query_);
  log_plan(call_, [&] { return explain(member_.size, query_, plan); });
  if (plan.n_segments == 1) {
    cut_.reset();
  } else {
    cut_->begin(query_, plan);
  }
  phase_ = Phase::kWaiting;
  return begin_data();
}

bool SegmentRequest::begin_data() {
  if (!group_->order().is_turn(this)) return false;
  if (cut_ == nullptr) return begin_whole();
  phase_ = Phase::kCutting;
  return false;
}

// As the call would have been staged without the others. A rank that fails here leaves them waiting, as it would then.
bool SegmentRequest::begin_whole() {
  if (Status status = stage(call_.comm); !status.is_ok()) return complete(std::move(status));
  group_->order().leave(this);
  phase_ = Phase::kWhole;
  return false;
}

void SegmentRequest::leave() noexcept {
  group_->order().leave(this);
  cut_.reset();
}

bool SegmentRequest::end() {
  if (question_.least() == 0) return complete(failure_for_all(call_, cut_->failure()));
  sides_.record_in_segments(call_.operation, watch_.elapsed());
  return complete({});
}

}  // namespace sluice::ops::coll
