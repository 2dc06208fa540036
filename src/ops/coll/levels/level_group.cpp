// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/levels/level_group.hpp"

#include <algorithm>
#include <utility>

#include "ops/coll/call/length_terms.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/comm/staging_comm.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

int return_errors(const StagingComm &comm) {
  return wire::host().MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
}

constexpr std::size_t index_of(LevelPhase step) noexcept {
  return static_cast<std::size_t>(step);
}

}  // namespace

Status LevelGroup::of(MPI_Comm comm, std::shared_ptr<NodeLevels> levels, LevelGroupPtr *group) {
  const CommStatePtr state = state_of(comm);
  if (state == nullptr) return {};
  LevelGroupPtr &known = state->part<LevelsOfComm>().group;
  if (known == nullptr) {
    const auto made = std::make_shared<LevelGroup>(std::move(levels));
    if (Status status = made->begin(); !status.is_ok()) return status;
    known = made;
  }
  *group = known;
  return {};
}

Status LevelGroup::begin() {
  const std::scoped_lock lock(mutex_);
  return flat_.start_duplicate(levels_->whole(), &request_);
}

MPI_Comm LevelGroup::comm_of(LevelPhase step) const noexcept {
  switch (step) {
    case LevelPhase::kNode:
      return levels_->requests().node;
    case LevelPhase::kLane:
      return levels_->requests().lane;
    case LevelPhase::kShare:
      return share_.get();
  }
  return MPI_COMM_NULL;
}

bool LevelGroup::is_ready() {
  const std::scoped_lock lock(mutex_);
  go_on();
  return failure_ != MPI_SUCCESS || phase_ >= Phase::kIdle;
}

int LevelGroup::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void LevelGroup::join(const void *call, const plan::LevelQuery &query, int own) {
  const std::scoped_lock lock(mutex_);
  calls_.push_back({.call = call, .own = own, .answer = {.query = query, .plan = {}}});
}

void LevelGroup::join(const void *call, const plan::LevelPlan &plan) {
  const std::scoped_lock lock(mutex_);
  calls_.push_back({.call = call, .is_decided = true, .answer = {.query = {}, .plan = plan}});
}

LevelGroup::Answer LevelGroup::hear(const void *call) {
  const std::scoped_lock lock(mutex_);
  go_on();
  const Entry *const entry = find(call);
  if (entry == nullptr) return {};
  Answer answer = entry->answer;
  answer.is_there = failure_ != MPI_SUCCESS || (entry->is_decided && phase_ >= Phase::kIdle);
  return answer;
}

bool LevelGroup::may_take(const void *call, LevelPhase step) const {
  const std::scoped_lock lock(mutex_);
  for (const Entry &entry : calls_) {
    if (entry.call == call) return true;
    if (entry.n_taken <= index_of(step)) return false;
  }
  return true;
}

void LevelGroup::note_taken(const void *call, LevelPhase step) noexcept {
  const std::scoped_lock lock(mutex_);
  if (Entry *const entry = find(call); entry != nullptr) entry->n_taken = index_of(step) + 1;
}

void LevelGroup::leave(const void *call) noexcept {
  const std::scoped_lock lock(mutex_);
  if (Entry *const entry = find(call); entry != nullptr && !entry->is_decided) {
    // The others ask about it, in its turn.
    entry->call = nullptr;
    entry->n_taken = kLevelPhases;
    return;
  }
  std::erase_if(calls_, [call](const Entry &entry) { return entry.call == call; });
}

LevelGroup::Entry *LevelGroup::find(const void *call) noexcept {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [call](const Entry &one) { return one.call == call; });
  return found == calls_.end() ? nullptr : &*found;
}

LevelGroup::Entry *LevelGroup::first_undecided() noexcept {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [](const Entry &one) { return !one.is_decided; });
  return found == calls_.end() ? nullptr : &*found;
}

// One thing after the other, as far as they go without waiting.
void LevelGroup::go_on() {
  while (failure_ == MPI_SUCCESS) {
    if (phase_ == Phase::kIdle) {
      if (first_undecided() == nullptr) return;
      failure_ = ask();
      continue;
    }
    int is_done = 0;
    failure_ = wire::host().MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE);
    if (failure_ != MPI_SUCCESS || is_done == 0) return;
    if (phase_ == Phase::kAsking) {
      phase_ = Phase::kIdle;
      decide();
    } else {
      failure_ = go_on_duplicating();
    }
  }
}

// One at a time, each of a communicator in which nothing else is under way: Open MPI 4.1 makes a duplicate by several
// calls in that, and mixes them up with others.
int LevelGroup::go_on_duplicating() {
  const auto code_of = [](const Status &status) { return status.is_ok() ? MPI_SUCCESS : MPI_ERR_INTERN; };
  const bool is_cut = wire::Channel::process().terms().segments_threshold_bytes != CollectiveTerms::kNever;
  const MPI_Comm lane = comm_of(LevelPhase::kLane);
  int code = MPI_SUCCESS;
  switch (phase_) {
    case Phase::kFlat:
      code = return_errors(flat_);
      if (code == MPI_SUCCESS) code = code_of(share_.start_duplicate(comm_of(LevelPhase::kNode), &request_));
      phase_ = Phase::kShare;
      break;
    case Phase::kShare:
      code = return_errors(share_);
      phase_ = is_cut ? Phase::kSegmentQuestions : Phase::kIdle;
      if (!is_cut) break;
      in_lane_ = std::make_shared<SegmentGroup>();
      if (code == MPI_SUCCESS) code = code_of(in_lane_->start_questions(lane, &request_));
      break;
    case Phase::kSegmentQuestions:
      code = code_of(in_lane_->start_data(&request_));
      phase_ = Phase::kSegmentData;
      break;
    case Phase::kSegmentData:
      code = in_lane_->return_errors();
      if (const CommStatePtr state = state_of(lane); state != nullptr) state->part<SegmentsOfComm>().group = in_lane_;
      phase_ = Phase::kIdle;
      break;
    case Phase::kIdle:
    case Phase::kAsking:
      break;
  }
  return code;
}

// About the first call that is not decided, unless it is left out.
int LevelGroup::ask() {
  Entry *const entry = first_undecided();
  if (wire::Channel::process().terms().may_leave_out && !attempts_.is_due()) {
    entry->is_decided = true;
    entry->answer.plan = {plan::Levels::kFlat, "calls before it could not, so the ranks do not ask"};
    drop_left();
    return MPI_SUCCESS;
  }
  const auto length = static_cast<long long>(entry->answer.query.size_bytes % kLengthPrime);
  agreement_.say({entry->own, length, -length});
  phase_ = Phase::kAsking;
  return agreement_.start(levels_->whole(), &request_);
}

// What attempts_ come to is the same on all ranks, because the calls are decided one after the other.
void LevelGroup::decide() {
  const auto least = static_cast<int>(agreement_.least(0));
  Entry *const entry = first_undecided();
  if (entry == nullptr) return;  // there is one, the one that was asked about
  entry->is_decided = true;
  Answer &answer = entry->answer;
  answer.is_asked = true;
  answer.least = least;
  if (least != kFailed) {
    const bool fits = are_alike(agreement_.least(1), agreement_.least(2));
    answer.query.ability = fits ? static_cast<plan::LevelAbility>(least) : plan::LevelAbility::kNone;
  }
  answer.plan = choose_levels(answer.query);
  if (answer.plan.levels == plan::Levels::kFlat) {
    attempts_.note_vain();
  } else {
    attempts_.note_good();
  }
  drop_left();
}

void LevelGroup::drop_left() noexcept {
  std::erase_if(calls_, [](const Entry &entry) { return entry.call == nullptr && entry.is_decided; });
}

}  // namespace sluice::ops::coll
