// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/bad_peer.hpp"
#include "base/log.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {

using transfer::Board;
using transfer::Ending;
using transfer::Published;

namespace {

// Of a chain, what its ranks have to have read alike, in bits above those of a plan::Joint.
std::uint32_t chain_number(const Published &root) noexcept {
  constexpr unsigned kFirstBit = 8;
  constexpr std::uint64_t kHashed = 0x9E3779B97F4A7C15;
  const std::uint64_t hash = root.chunk_bytes * kHashed;
  return static_cast<std::uint32_t>(hash >> 48U) << kFirstBit;
}

}  // namespace

template <typename Body>
PartEnd NodeCall::contained(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return failed(Status::of_exception(error));
  }
}

void NodeCall::describe(const Status &classified) {
  own_ = contained([&]() -> PartEnd {
    Status status = offer_.fill(call_, member_, sides_, classified, group_.edges().pairing_of(call_));
    if (!status.is_ok()) return failed(status);
    if (offer_.published.state != Published::State::kTakesPart) return {};
    status = offer_.begin_packing();
    if (status.is_ok()) pull_.choose_means();
    return status.is_ok() ? PartEnd() : failed(status);
  });
  if (own_.ending != Ending::kGood) offer_.published.state = Published::State::kFailed;
}

bool NodeCall::is_packed() {
  if (offer_.packed == nullptr) return true;
  bool is_done = false;
  Status status = offer_.packed->poll(&is_done);
  if (status.is_ok()) return is_done;
  own_ = failed(status);
  offer_.published.state = Published::State::kFailed;
  return true;
}

void NodeCall::publish() noexcept {
  board_.publish(number_, offer_.published, offer_.described);
  phase_ = Phase::kPublished;
  if (!pull_.begins_early()) return;
  PartEnd begun = contained([&] { return pull_.begin_own(); });
  if (begun.ending != Ending::kGood) own_ = std::move(begun);  // for decide(): the others count on this rank by now
}

void NodeCall::advance() {
  MaybePartEnd step;
  if (phase_ == Phase::kPublished && board_.have_all_published(number_)) decide();
  if (phase_ == Phase::kPulling || phase_ == Phase::kInChain || phase_ == Phase::kReducing) {
    const PartEnd moved = contained([&]() -> PartEnd {
      step = go_on();
      return step.value_or(PartEnd());
    });
    if (step || moved.ending != Ending::kGood) end(moved);
  }
  if (phase_ != Phase::kEnding) return;
  if (const auto outcome = board_.outcome(number_)) settle(*outcome);
}

void NodeCall::decide() {
  plan::Joint joint{};
  PartEnd moved = contained([&] { return agree(&joint); });
  if (moved.ending == Ending::kGood && (joint == plan::Joint::kStaged || joint == plan::Joint::kFail)) {
    moved = leave_off(joint);
  } else if (moved.ending == Ending::kGood) {
    moved = std::move(own_);
  }
  if (moved.ending != Ending::kGood) return end(std::move(moved));
  MaybePartEnd step;
  const PartEnd begun = contained([&]() -> PartEnd {
    step = begin_as(joint);
    return step.value_or(PartEnd());
  });
  if (step || begun.ending != Ending::kGood) end(begun);
}

// Nothing is moved together. An error that this rank has itself stays the one that it tells.
PartEnd NodeCall::leave_off(plan::Joint joint) const {
  if (joint == plan::Joint::kStaged) return {is_short_ ? Ending::kShort : Ending::kStages, {}};
  if (own_.ending == Ending::kFailed) return own_;
  int rank = 0;
  while (rank + 1 < member_.size && heard_.of(rank).state != Published::State::kFailed) ++rank;
  return failed(failure_of({Ending::kFailed, rank}));
}

MaybePartEnd NodeCall::begin_as(plan::Joint joint) {
  if (joint == plan::Joint::kReduce) {
    phase_ = Phase::kReducing;
    span_.begin();
    return reduction_->begin(heard_);
  }
  if (joint == plan::Joint::kPull) {
    phase_ = Phase::kPulling;
    return pull_.begin(heard_);
  }
  phase_ = Phase::kInChain;
  pull_.use_engines();
  chain_ = std::make_unique<NodeChain>(call_, member_, offer_, sides_.recv.place(), board_, number_, heard_, &reach_);
  return chain_->begin();
}

MaybePartEnd NodeCall::go_on() {
  if (phase_ == Phase::kPulling) return pull_.advance();
  return phase_ == Phase::kReducing ? go_on_reducing() : chain_->advance();
}

PartEnd NodeCall::agree(plan::Joint *joint) {
  if (const auto rank = board_.find_impossible(number_)) {
    return failed(transfer::nonsense_of(*rank, "it has made calls that it cannot have made"));
  }
  const auto n_ranks = static_cast<std::size_t>(member_.size);
  const auto say = [&](const auto &plan) { log_plan(call_, [&] { return explain(n_ranks, plan); }); };
  if (!is_reduction(call_.pattern)) {
    if (Status status = heard_.take(board_, number_, offer_.published); !status.is_ok()) return failed(status);
    const plan::JointPlan plan = agree_on_movement();
    say(plan);
    is_short_ = plan.reason == plan::JointReason::kShort || plan.reason == plan::JointReason::kNothing;
    *joint = plan.joint;
    return {};
  }
  reduction_ = std::make_unique<NodeReduction>(call_, member_, sides_, offer_, &group_, number_);
  plan::JointReductionPlan plan;
  if (Status status = reduction_->plan(&heard_, &plan); !status.is_ok()) return failed(status);
  say(plan);
  is_short_ = plan.reason == plan::ReductionReason::kShort;
  plan_ = static_cast<std::uint32_t>(plan.joint) << 1U | (plan.needs_consent ? 1U : 0U);
  *joint = plan::Joint::kReduce;
  if (plan.joint == plan::JointReduction::kFail) *joint = plan::Joint::kFail;
  if (plan.joint == plan::JointReduction::kStaged) *joint = plan::Joint::kStaged;
  if (*joint != plan::Joint::kReduce) reduction_.reset();
  return {};
}

plan::JointPlan NodeCall::agree_on_movement() {
  std::vector<plan::Offer> offers;
  offers.reserve(heard_.all().size());
  for (const Published &said : heard_.all()) {
    offers.push_back({said.state == Published::State::kFailed, said.state == Published::State::kTakesPart, said.feeds,
                      said.backend_name(), said.largest_bytes, said.broadcast_bytes});
  }
  const bool is_broadcast = call_.pattern == Pattern::kBroadcast;
  plan::JointQuery query{is_broadcast, wire::Channel::process().terms().threshold_bytes, 0};
  const bool has_root = is_broadcast && call_.root >= 0 && call_.root < member_.size;
  if (has_root) query.chunk_bytes = heard_.of(call_.root).chunk_bytes;
  const plan::JointPlan plan = choose_joint(offers, query);
  plan_ = static_cast<std::uint32_t>(plan.joint);
  if (plan.joint == plan::Joint::kChain) plan_ |= chain_number(heard_.of(call_.root));
  return plan;
}

MaybePartEnd NodeCall::go_on_reducing() {
  MaybePartEnd step = reduction_->advance();
  if (step && step->ending == Ending::kGood) {
    span_.end(trace::Lane::kKernel, {call_.operation}, {reduction_->bytes()});
  }
  return step;
}

// Copies that are under way when it gives up end before the others hear of it, and before the same memory is written
// again or given back.
void NodeCall::finish_copies() noexcept {
  chain_.reset();
  reduction_.reset();
  pull_.finish();
}

void NodeCall::end(PartEnd moved) {
  own_ = std::move(moved);
  finish_copies();
  if (own_.ending != Ending::kGood) board_.set_chunks(number_, Board::kNoMore);
  board_.end(number_, own_.ending, own_.ending == Ending::kGood ? plan_ : 0);
  phase_ = Phase::kEnding;
}

void NodeCall::settle(const Board::Outcome &outcome) {
  reach_.release();
  const bool is_by_kernel = is_reduction(call_.pattern) || pull_.is_by_kernel();
  const Route route = is_by_kernel ? Route::kKernel : Route::kIpc;
  is_short_ = outcome.ending == Ending::kShort;
  switch (outcome.ending) {
    case Ending::kGood:
      sides_.send.record(call_.operation, route, watch_.elapsed());
      sides_.recv.record(call_.operation, route, watch_.elapsed());
      return settle_as(Outcome::kDone);
    case Ending::kShort:
    case Ending::kStages:
      return settle_as(Outcome::kStaged);
    case Ending::kRefused:
      // What was copied is copied again: nothing that is sent has changed.
      if (own_.ending == Ending::kRefused) {
        log::warn_once("coll_ipc", "ops", own_.why.message() + "; such collective operations are staged instead");
      }
      statistics::record_fallback("coll_ipc");
      return settle_as(Outcome::kStaged);
    case Ending::kFailed:
      break;
  }
  // Where that was a word of nonsense, which may be another when the next one looks.
  board_.pass_on_failure(number_, outcome.rank);
  failure_ = own_.ending == Ending::kFailed ? own_.why : failure_of(outcome);
  settle_as(Outcome::kFailed);
}

void NodeCall::settle_as(Outcome outcome) noexcept {
  if (offer_.packed != nullptr) offer_.packed->close();  // nobody reads it any more
  outcome_ = outcome;
  phase_ = Phase::kSettled;
}

Status NodeCall::failure_of(const Board::Outcome &outcome) const {
  if (outcome.is_of_two_plans) {
    return bad_peer(
        fmt::format("the ranks of the communicator did not do the same in {}: what one of them wrote "
                    "in memory that the ranks of a node share has changed while the others read it",
                    name(call_.operation)));
  }
  return Status::error(ErrorKind::kBackend, fmt::format("rank {} of the communicator could not do its part of {}; its "
                                                        "own error says why",
                                                        outcome.rank, name(call_.operation)));
}

}  // namespace sluice::ops::coll
