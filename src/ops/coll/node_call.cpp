// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {

using transfer::Board;
using transfer::Ending;
using transfer::Published;

template <typename Body>
Moved NodeCall::contained(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return failed(
        Status::error(ErrorKind::kOutOfMemory, std::string("out of memory inside Sluice (") + error.what() + ")"));
  }
}

void NodeCall::describe(const Status &classified) {
  own_ = contained([&]() -> Moved {
    Status status = offer_.fill(call_, member_, sides_, classified, group_.edges().pairing_of(call_));
    if (!status.is_ok()) return failed(status);
    if (offer_.published.state != Published::State::kTakesPart) return {};
    status = offer_.begin_packing();
    if (status.is_ok()) pull_.choose_means();
    return status.is_ok() ? Moved() : failed(status);
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
  Moved begun = contained([&] { return pull_.begin_own(); });
  if (begun.ending != Ending::kGood) own_ = std::move(begun);  // for decide(): the others count on this rank by now
}

void NodeCall::advance() {
  Step step;
  if (phase_ == Phase::kPublished && board_.have_all_published(number_)) decide();
  if (phase_ == Phase::kPulling || phase_ == Phase::kInChain || phase_ == Phase::kReducing) {
    const Moved moved = contained([&]() -> Moved {
      step = go_on();
      return step.value_or(Moved());
    });
    if (step || moved.ending != Ending::kGood) end(moved);
  }
  if (phase_ == Phase::kEnding && board_.have_all_ended(number_)) settle();
}

void NodeCall::decide() {
  plan::Joint joint{};
  const Moved planned = contained([&]() -> Moved {
    joint = agree();
    return {};
  });
  if (planned.ending != Ending::kGood) return end(planned);
  if (joint == plan::Joint::kStaged || joint == plan::Joint::kFail) {
    int rank = 0;
    if (joint == plan::Joint::kFail) {
      while (rank + 1 < member_.size && board_.published(number_, rank).state != Published::State::kFailed) ++rank;
      failure_ = failure_of(own_.why, rank);
    }
    finish_copies();
    board_.end(number_, Ending::kGood);  // nobody waits for it, but the slot is to be used again
    return settle_as(joint == plan::Joint::kFail ? Outcome::kFailed : Outcome::kStaged);
  }
  if (own_.ending != Ending::kGood) return end(std::move(own_));
  Step step;
  const Moved begun = contained([&]() -> Moved {
    step = begin_as(joint);
    return step.value_or(Moved());
  });
  if (step || begun.ending != Ending::kGood) end(begun);
}

Step NodeCall::begin_as(plan::Joint joint) {
  if (reduction_ != nullptr) {
    phase_ = Phase::kReducing;
    span_.begin();
    return reduction_->begin();
  }
  phase_ = joint == plan::Joint::kChain ? Phase::kInChain : Phase::kPulling;
  if (joint != plan::Joint::kChain) return pull_.begin(number_);
  pull_.use_engines();
  chain_ = std::make_unique<NodeChain>(call_, member_, offer_, sides_.recv.place(), board_, number_, &reach_);
  return chain_->begin();
}

Step NodeCall::go_on() {
  if (phase_ == Phase::kPulling) return pull_.advance();
  return phase_ == Phase::kReducing ? go_on_reducing() : chain_->advance();
}

plan::Joint NodeCall::agree() {
  const auto n_ranks = static_cast<std::size_t>(member_.size);
  const auto say = [&](const auto &plan) {
    if (log::level() < log::Level::kDebug) return;
    log::debug("plan", fmt::format("{}: {}", name(call_.operation), explain(n_ranks, plan)));
  };
  if (!is_reduction(call_.pattern)) {
    const plan::JointPlan plan = agree_on_movement();
    say(plan);
    is_short_ = plan.reason == plan::JointReason::kShort || plan.reason == plan::JointReason::kNothing;
    return plan.joint;
  }
  reduction_ = std::make_unique<NodeReduction>(call_, member_, sides_, &group_, number_);
  const plan::JointReductionPlan plan = reduction_->plan();
  say(plan);
  is_short_ = plan.reason == plan::ReductionReason::kShort;
  if (plan.joint != plan::JointReduction::kFail && plan.joint != plan::JointReduction::kStaged)
    return plan::Joint::kPull;
  reduction_.reset();
  return plan.joint == plan::JointReduction::kFail ? plan::Joint::kFail : plan::Joint::kStaged;
}

plan::JointPlan NodeCall::agree_on_movement() const {
  std::vector<Published> all;
  std::vector<plan::Offer> offers;
  all.reserve(static_cast<std::size_t>(member_.size));  // the names in the offers lie in there
  for (int rank = 0; rank < member_.size; ++rank) {
    const Published &said = all.emplace_back(board_.published(number_, rank));
    offers.push_back({said.state == Published::State::kFailed, said.state == Published::State::kTakesPart, said.feeds,
                      said.backend_name(), said.largest_bytes, said.broadcast_bytes});
  }
  const bool is_broadcast = call_.pattern == Pattern::kBroadcast;
  plan::JointQuery query{is_broadcast, wire::Channel::process().terms().threshold_bytes, 0};
  if (is_broadcast && call_.root >= 0 && call_.root < member_.size) {
    query.chunk_bytes = all[static_cast<std::size_t>(call_.root)].chunk_bytes;
  }
  return choose_joint(offers, query);
}

Step NodeCall::go_on_reducing() {
  Step step = reduction_->advance();
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

void NodeCall::end(Moved moved) {
  own_ = std::move(moved);
  finish_copies();
  if (own_.ending != Ending::kGood) board_.set_chunks(number_, Board::kNoMore);
  board_.end(number_, own_.ending);
  phase_ = Phase::kEnding;
}

void NodeCall::settle() {
  reach_.release();
  const bool is_by_kernel = is_reduction(call_.pattern) || pull_.is_by_kernel();
  const Route route = is_by_kernel ? Route::kKernel : Route::kIpc;
  int rank = 0;
  switch (board_.outcome(number_, &rank)) {
    case Ending::kGood:
      sides_.send.record(call_.operation, route, watch_.elapsed());
      sides_.recv.record(call_.operation, route, watch_.elapsed());
      return settle_as(Outcome::kDone);
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
  failure_ = failure_of(own_.ending == Ending::kFailed ? own_.why : Status(), rank);
  settle_as(Outcome::kFailed);
}

void NodeCall::settle_as(Outcome outcome) noexcept {
  if (offer_.packed != nullptr) offer_.packed->close();  // nobody reads it any more
  outcome_ = outcome;
  phase_ = Phase::kSettled;
}

Status NodeCall::failure_of(const Status &own, int rank) const {
  if (!own.is_ok()) return own;
  return Status::error(ErrorKind::kBackend, fmt::format("rank {} of the communicator could not do its part of {}; its "
                                                        "own error says why",
                                                        rank, name(call_.operation)));
}

}  // namespace sluice::ops::coll
