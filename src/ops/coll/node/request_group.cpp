// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/request_group.hpp"

#include <bit>
#include <exception>
#include <utility>

#include "base/log.hpp"
#include "ops/coll/node/node_of_comm.hpp"
#include "ops/comm/staging_comm.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// Whether the ranks ask in this call, the `n`-th since they began to: soon again after the first ones in which a rank
// had no device memory, later seldom. By the number alone, because not all know the last answer at the same call.
constexpr bool asks_in(std::uint64_t n) noexcept {
  constexpr std::uint64_t kMostBetween = 64;
  return std::has_single_bit(n) || n % kMostBetween == 0;
}

}  // namespace

RequestGroup::RequestGroup(MPI_Comm comm, const Member &member, const CommState &state)
    : member_(member),
      world_ranks_(state.world_ranks),
      group_(state.part<NodeOfComm>().group),
      comm_(state.part<NodeOfComm>().request_comm),
      order_(state.part<NodeOfComm>().order),
      neighbors_(Neighborhood::of(comm)) {}

RequestGroup::~RequestGroup() {
  forget_board_name(member_, name_);
}

void RequestGroup::make_ahead(MPI_Comm comm) noexcept {
  const wire::Channel &channel = wire::Channel::process();
  if (!channel.is_open() || channel.terms().threshold_bytes == CollectiveTerms::kNever) return;
  try {
    Member member;
    const CommStatePtr state = state_of(comm);
    if (state == nullptr || !state->is_on_one_node || !Member::of(comm, &member)) return;
    if (member.is_inter || member.size < 2 || member.size > transfer::Board::kMostRanks) return;
    const auto made = std::make_shared<StagingComm>();
    bool is_made = false;
    const Status status = made->make(comm, &is_made);
    if (is_made) state->part<NodeOfComm>().request_comm = made;
    if (!status.is_ok()) log::warn("ops", status.message());
  } catch (const std::exception &error) {
    log::warn("ops", error.what());
  }
}

std::uint64_t RequestGroup::join(Pattern pattern, bool has_device, const void *name) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = ++n_joined_;
  Calls &calls = calls_of(pattern);
  if (asks_in(++calls.n_joined) && calls.first_together == UINT64_MAX) {
    questions_.push_back({number, name, pattern, has_device});
  }
  return number;
}

RequestGroup::Way RequestGroup::advance(Pattern pattern, std::uint64_t number, const void *name) {
  const std::scoped_lock lock(mutex_);
  if (failure_ == MPI_SUCCESS) go_on();
  if (number != n_settled_ + 1) return Way::kWait;
  if (failure_ != MPI_SUCCESS) return Way::kFailed;
  if (number >= calls_of(pattern).first_together) return Way::kTogether;
  const bool is_asked_about = !questions_.empty() && number >= questions_.front().number;
  return is_asked_about || !order_->is_turn(name) ? Way::kWait : Way::kStaged;
}

void RequestGroup::settle() noexcept {
  const std::scoped_lock lock(mutex_);
  ++n_settled_;
}

bool RequestGroup::is_settled() const noexcept {
  const std::scoped_lock lock(mutex_);
  return n_settled_ == n_joined_ && step_ == Phase::kNone;
}

NodeGroupPtr RequestGroup::group() const noexcept {
  const std::scoped_lock lock(mutex_);
  return group_;
}

NodeGroupPtr RequestGroup::ready_group(Pattern pattern, bool after_staged) noexcept {
  const std::scoped_lock lock(mutex_);
  Calls &calls = calls_of(pattern);
  if (calls.first_together == UINT64_MAX) return nullptr;
  // How blocking calls came out is known here: they wait for all that is open, and an answer changes both with the
  // lock.
  if (after_staged && !group_->is_good(pattern)) {
    calls = {};
    return nullptr;
  }
  return n_settled_ == n_joined_ && step_ == Phase::kNone ? group_ : nullptr;
}

void RequestGroup::take_group(NodeGroupPtr group) noexcept {
  const std::scoped_lock lock(mutex_);
  group_ = std::move(group);
}

int RequestGroup::failure() const noexcept {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

// One step after the other, as far as they go without waiting.
void RequestGroup::go_on() {
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {
    if (step_ == Phase::kNone) {
      // What is staged before goes over the same communicator, and on all ranks before the question.
      if (questions_.empty() || questions_.front().number != n_settled_ + 1) return;
      if (!order_->is_turn(questions_.front().name)) return;
      code = ask();
      continue;
    }
    int is_done = 0;
    code = wire::host().MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) break;
    if (is_done == 0) return;
    code = go_on_behind(std::exchange(step_, Phase::kNone));
  }
  step_ = Phase::kNone;
  failure_ = code;
}

int RequestGroup::go_on_behind(Phase done) {
  switch (done) {
    case Phase::kAsk:
      if (agreement_.least(0) == 0) break;
      return group_ == nullptr ? tell_name() : ask_for_edges();
    case Phase::kName:
      return open_and_agree();
    case Phase::kAgree:
      if (agreement_.least(0) != 0) group_ = std::make_shared<NodeGroup>(std::move(segment_), member_, world_ranks_);
      forget_board_name(member_, name_);
      name_ = {};
      if (agreement_.least(0) == 0) break;
      return ask_for_edges();
    case Phase::kEdges:
      return take_edges() ? ask_for_edges() : MPI_ERR_INTERN;
    case Phase::kNone:
      return MPI_SUCCESS;
  }
  end(false);
  return MPI_SUCCESS;
}

int RequestGroup::ask() {
  agreement_.say({questions_.front().has_device ? 1 : 0});
  step_ = Phase::kAsk;
  return agreement_.start(comm_->get(), &request_);
}

int RequestGroup::tell_name() {
  make_board(member_, &segment_, &name_);
  step_ = Phase::kName;
  return wire::host().MPI_Ibcast(name_.data(), static_cast<int>(name_.size()), MPI_CHAR, 0, comm_->get(), &request_);
}

int RequestGroup::open_and_agree() {
  agreement_.say({open_board(member_, name_, &segment_) ? 1 : 0});
  step_ = Phase::kAgree;
  return agreement_.start(comm_->get(), &request_);
}

// Of all functions, since a call may not wait for them later; then it ends.
int RequestGroup::ask_for_edges() {
  if (neighbors_ != nullptr && !inquiry_ && !has_edges_) {
    inquiry_.emplace(*neighbors_, member_, kEdgeFunctions, false, &group_->edges());
  }
  if (inquiry_ && !inquiry_->is_done()) {
    step_ = Phase::kEdges;
    return inquiry_->start(comm_->get(), &request_);
  }
  inquiry_.reset();
  has_edges_ = true;
  end(true);
  return MPI_SUCCESS;
}

bool RequestGroup::take_edges() {
  if (!inquiry_) return false;  // there is one in the only step that comes here
  const Status status = inquiry_->take();
  if (!status.is_ok()) log::warn("ops", status.message());
  return status.is_ok();
}

void RequestGroup::end(bool is_good) {
  const Question answered = questions_.front();
  questions_.pop_front();
  if (!is_good) return;
  // Those that calls behind it have asked meanwhile, which other ranks may not have.
  std::erase_if(questions_,
                [&](const Question &one) { return is_reduction(one.pattern) == is_reduction(answered.pattern); });
  calls_of(answered.pattern).first_together = answered.number;
  group_->take_staging_comm(comm_);
  group_->note_together(answered.pattern);
}

}  // namespace sluice::ops::coll
