// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "device/kernel_copies.hpp"
#include "plan/policy.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {

using transfer::Board;
using transfer::Ending;
using transfer::Published;
using transfer::Region;
using transfer::StridedBlock;

namespace {

// From this length on own blocks and those of others take less time in two queues than one after the other in one (2
// H200s, docs/adr/0014).
constexpr std::uint64_t kLongOwnBytes = std::uint64_t{2} << 20;

}  // namespace

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
    if (offer_.published.state == Published::State::kTakesPart) means_ = choose_means();
    return {};
  });
  if (own_.ending != Ending::kGood) offer_.published.state = Published::State::kFailed;
}

// What copies the blocks that this rank gets, if they are pulled. Each rank's own choice, and made before the others'
// parts are known: what blocks while a kernel is made ready holds up nothing that has begun.
plan::CopyMeans NodeCall::choose_means() const {
  if (is_reduction(call_.pattern) || offer_.blocks.wanted.empty()) return plan::CopyMeans::kEngines;
  plan::CopyListQuery query;
  for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
    if (size_of(wanted.region) == 0) continue;
    query.n_copies += transfer::count_runs(wanted.region);
    query.size_bytes += size_of(wanted.region);
  }
  if (query.n_copies == 0) return plan::CopyMeans::kEngines;
  const device::Place &place = place_of_wanted();
  plan::CopyListLimits limits{plan::policy_of(place.backend, place.device).coll_kernel_copy_bytes,
                              SLUICE_KERNEL_MAX_COPIES};
  plan::CopyPlan plan = choose_copy_means(query, limits);
  if (plan.means == plan::CopyMeans::kKernel && !device::has_copy_kernel(place)) {
    limits.most_copies = 0;
    plan = choose_copy_means(query, limits);
  }
  if (log::level() >= log::Level::kDebug) {
    log::debug("plan", fmt::format("{}: {}", name(call_.operation), explain(query, plan)));
  }
  return plan.means;
}

void NodeCall::publish() noexcept {
  board_.publish(number_, offer_.published, offer_.described);
  phase_ = Phase::kPublished;
  if (!copies_own_early()) return;
  Moved begun = contained([&] { return begin_own(); });
  if (begun.ending != Ending::kGood) own_ = std::move(begun);  // for decide(): the others count on this rank by now
}

// Whether the others will come to "pull" as far as this rank can tell; else it would copy in vain.
bool NodeCall::copies_own_early() const {
  static const bool is_wanted = Knobs::process().text("SLUICE_COLL_OWN_BLOCK") == "early";
  return is_wanted && offer_.published.state == Published::State::kTakesPart && call_.pattern != Pattern::kBroadcast &&
         !is_reduction(call_.pattern) && means_ == plan::CopyMeans::kEngines &&
         offer_.published.largest_bytes >= wire::Channel::process().terms().threshold_bytes;
}

// The rank's own blocks, from its one buffer into the other, while it waits for the others' parts. Nobody else looks at
// either place, and should the call be staged after all, the same bytes come there again.
Moved NodeCall::begin_own() {
  std::vector<sluice_copy_t> copies;
  std::uint64_t size_bytes = 0;
  const auto *base = reinterpret_cast<const std::byte *>(static_cast<std::uintptr_t>(offer_.published.base_address));
  for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
    const std::size_t index = offer_.described.size() == 1 ? 0 : static_cast<std::size_t>(wanted.block);
    if (wanted.source != member_.rank || index >= offer_.described.size()) continue;
    const StridedBlock &block = offer_.described[index];
    // Lengths that do not fit are for begin_pull() to refuse.
    if (block.n_runs == 0 || block.size_bytes() != size_of(wanted.region)) continue;
    add_copies(block, base, wanted.region, &copies);
    size_bytes += block.size_bytes();
  }
  if (copies.empty()) return {};
  device::Queue *queue = size_bytes < kLongOwnBytes ? &queue_ : &own_queue_;
  Status status = queue->acquire(place_of_wanted());
  if (status.is_ok()) status = queue->enqueue(copies);
  has_own_ = status.is_ok();
  return has_own_ ? Moved() : failed(status);
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
  if (joint == plan::Joint::kChain) means_ = plan::CopyMeans::kEngines;
  return joint == plan::Joint::kChain ? begin_chain() : begin_pull();
}

Step NodeCall::go_on() {
  if (phase_ == Phase::kPulling) return go_on_pulling();
  return phase_ == Phase::kReducing ? go_on_reducing() : go_on_in_chain();
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
  const plan::JointReductionPlan plan = agree_on_reduction(call_, member_, board_, number_);
  say(plan);
  is_short_ = plan.reason == plan::ReductionReason::kShort;
  if (plan.joint == plan::JointReduction::kFail) return plan::Joint::kFail;
  if (plan.joint == plan::JointReduction::kStaged) return plan::Joint::kStaged;
  reduction_ = std::make_unique<NodeReduction>(call_, member_, sides_, &group_, plan, number_);
  return plan::Joint::kPull;
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

// The first byte of the allocation that `source` published, for queues of the device that is copied to.
Status NodeCall::reach(int source, const Published &published, const std::byte **base) {
  std::byte *first = nullptr;
  Status status = reach_.open(source, published.handle, published.base_address, published.allocation_bytes,
                              place_of_wanted(), &first);
  *base = first;
  return status;
}

Step NodeCall::begin_pull() {
  std::vector<sluice_copy_t> copies;
  for (const NodeBlocks::Wanted &wanted : offer_.blocks.wanted) {
    const Published source = board_.published(number_, wanted.source);
    const StridedBlock block = board_.block(number_, wanted.source, static_cast<std::size_t>(wanted.block));
    if (!block.is_within(source.allocation_bytes) || block.size_bytes() != size_of(wanted.region)) {
      return refused(
          Status::error(ErrorKind::kInvalidArgument,
                        "what a rank sends in a collective operation is not as long as what another expects"));
    }
    if (block.n_runs == 0) continue;
    bytes_ += block.size_bytes();
    if (has_own_ && wanted.source == member_.rank) continue;
    const std::byte *base = nullptr;
    if (Status status = reach(wanted.source, source, &base); !status.is_ok()) return refused(status);
    add_copies(block, base, wanted.region, &copies);
  }
  if (copies.empty() && !has_own_) return Moved();
  span_.begin();
  Status status;
  if (!own_queue_.is_empty()) status = own_copy_.begin(&own_queue_, {});
  if (status.is_ok() && queue_.is_empty()) status = queue_.acquire(place_of_wanted());
  if (status.is_ok() && means_ == plan::CopyMeans::kKernel) status = enqueue_as_kernel(&copies);
  if (status.is_ok()) status = copy_.begin(&queue_, copies);
  if (!status.is_ok()) return failed(status);
  has_own_ = false;  // what has begun above ends after them
  return {};
}

// All of them, which leaves the list empty; or nothing, where they are for the copy engines after all.
Status NodeCall::enqueue_as_kernel(std::vector<sluice_copy_t> *copies) {
  means_ = plan::CopyMeans::kEngines;
  // What others send may lie in more pieces than what is received.
  if (copies->size() > SLUICE_KERNEL_MAX_COPIES) return {};
  bool is_refused = false;
  Status status = device::enqueue_kernel_copies(&queue_, *copies, &is_refused);
  if (is_refused) {
    log::warn_once("coll_copy_kernel", "ops", status.message() + "; the copy engines copy it instead");
    statistics::record_fallback("coll_copy_kernel");
    return {};
  }
  if (!status.is_ok()) return status;
  means_ = plan::CopyMeans::kKernel;
  copies->clear();
  return {};
}

Step NodeCall::go_on_pulling() {
  bool are_done = true;
  for (device::PendingCopy *copy : {&own_copy_, &copy_}) {
    bool is_done = false;
    if (Status status = copy->poll(&is_done); !status.is_ok()) return failed(status);
    are_done &= is_done;
  }
  if (!are_done) return {};
  const bool is_by_kernel = means_ == plan::CopyMeans::kKernel;
  span_.end(is_by_kernel ? trace::Lane::kKernel : trace::Lane::kD2d, {call_.operation}, {bytes_});
  return Moved();
}

// A broadcast: ranks in a row, the root first; each reads from the one before it.
Step NodeCall::begin_chain() {
  const Region &region = offer_.blocks.offered.front();
  if (call_.root == member_.rank) {
    board_.set_chunks(
        number_, static_cast<std::uint32_t>(transfer::count_chunks(region.size_bytes(), offer_.published.chunk_bytes)));
    return Moved();
  }
  const Published source = board_.published(number_, rank_before());
  const StridedBlock block = board_.block_for_me(number_, rank_before());
  if (!block.is_within(source.allocation_bytes) || block.n_runs != 1 || block.size_bytes() != region.size_bytes()) {
    return refused(Status::error(ErrorKind::kInternal, "a rank of a broadcast said where no data is"));
  }
  const std::byte *base = nullptr;
  if (Status status = reach(rank_before(), source, &base); !status.is_ok()) return refused(status);
  bytes_ = region.size_bytes();
  span_.begin();
  chunks_ = std::make_unique<transfer::ChunkedCopy>(sluice_copy_t{region.origin, base + block.offset_bytes, bytes_},
                                                    board_.published(number_, call_.root).chunk_bytes);
  if (Status status = chunks_->open(place_of_wanted()); !status.is_ok()) return failed(status);
  return {};
}

Step NodeCall::go_on_reducing() {
  Step step = reduction_->advance();
  if (step && step->ending == Ending::kGood) {
    span_.end(trace::Lane::kKernel, {call_.operation}, {reduction_->bytes()});
  }
  return step;
}

Step NodeCall::go_on_in_chain() {
  const std::uint32_t n_there = board_.chunks_of(number_, rank_before());
  // The one before it has its reason, and all will hear of it.
  if (n_there == Board::kNoMore) {
    return refused(Status::error(ErrorKind::kBackend, "the rank before this one gave up"));
  }
  if (Status status = chunks_->advance(n_there); !status.is_ok()) return failed(status);
  board_.set_chunks(number_, static_cast<std::uint32_t>(chunks_->n_copied()));
  if (!chunks_->is_done()) return {};
  span_.end(trace::Lane::kD2d, {call_.operation, rank_before()}, {bytes_});
  return Moved();
}

// Copies that are under way when it gives up end before the others hear of it, and before the same memory is written
// again or given back.
void NodeCall::finish_copies() noexcept {
  chunks_.reset();
  reduction_.reset();
  copy_ = device::PendingCopy();
  own_copy_ = device::PendingCopy();
  if (!has_own_) return;
  has_own_ = false;
  device::Queue *queue = own_queue_.is_empty() ? &queue_ : &own_queue_;
  if (queue->is_empty()) return;  // given up, which waited
  device::PendingCopy rest;       // waits as it goes
  const Status status = rest.begin(queue, {});
  if (!status.is_ok()) log::debug("ops", status.message());
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
  const bool is_by_kernel = is_reduction(call_.pattern) || means_ == plan::CopyMeans::kKernel;
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
